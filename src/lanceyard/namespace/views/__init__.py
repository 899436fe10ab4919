"""Views: tables that hold the answer to a query over others."""
