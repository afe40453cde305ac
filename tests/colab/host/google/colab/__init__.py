"""Stands for the package by which libraries recognise Colab."""
