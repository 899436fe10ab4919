"""Tests of search in Spark."""
