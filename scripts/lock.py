"""Print the installed packages as constraints: `name==version` lines, no addresses, Motet itself left out."""

from importlib.metadata import distributions

OURS = {"motet", "pip", "setuptools", "wheel"}

if __name__ == "__main__":
    pins = {d.metadata["Name"].lower().replace("_", "-"): d.version.partition("+")[0] for d in distributions()}
    print("# Versions that the tests passed with. Made by `make lock`.")
    for name in sorted(pins.keys() - OURS):
        print(f"{name}=={pins[name]}")
