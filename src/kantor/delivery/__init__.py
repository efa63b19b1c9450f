"""Goods and money after clearing: noised data handed over and checked, the ledger."""
