"""An answer is criticised and written again."""
