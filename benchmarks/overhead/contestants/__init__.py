"""One file a contestant; its imports are what a program that uses the framework would import."""
