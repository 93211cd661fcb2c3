"""What all HTML pages share: one style sheet, and templates in which text is never markup."""

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined


def templates(package: str) -> Environment:
    """The templates that lie in a package; `page.css` is the style sheet."""
    return Environment(
        loader=ChoiceLoader([PackageLoader(package, "."), PackageLoader("motet.viewer", ".")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
