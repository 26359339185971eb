/** An MCP server over stdio, with the official SDK: two searches, then a sentence that tells the model how long to wait. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { tokenBucket } from 'sluice';
import { rateLimit } from 'sluice/mcp';
import { z } from 'zod';

const limited = rateLimit({
  policy: tokenBucket({ name: 'tools', capacity: 2, refillRate: '1/m' }),
  tools: { version: false },
});

const server = limited(new McpServer({ name: 'library', version: '1.0.0' }));

server.registerTool('search', { inputSchema: { query: z.string() } }, async ({ query }) => ({
  content: [{ type: 'text', text: `Nothing about ${query}.` }],
}));
server.registerTool('version', {}, async () => ({ content: [{ type: 'text', text: '1.0.0' }] }));

await server.connect(new StdioServerTransport());
