"""MCP servers as this host keeps them: connections, their tools, and the authorization of remote ones."""
