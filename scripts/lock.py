"""Print the installed packages as constraints: `name==version` lines, no addresses, Motet itself left out."""

from importlib.metadata import distributions

OURS = {"motet", "pip", "setuptools", "wheel"}

if __name__ == "__main__":
    print("# Versions that the tests passed with. Made by `make lock`.")
    found = {d.metadata["Name"].lower().replace("_", "-"): d.version for d in distributions()}
    for name in sorted(found.keys() - OURS):
        # A local version (`+cpu`) names a build, which not every index has.
        print(f"{name}=={found[name].partition('+')[0]}")
