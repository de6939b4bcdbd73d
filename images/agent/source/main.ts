import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { createHttpApi } from './http-api.ts';
import { createHubLink } from './hub-link.ts';
import { createStrandsEngine } from './strands-engine.ts';
import { createTurns } from './turns.ts';
import type { Session, Settings } from './types.ts';

const settingsSchema = z.object({
  model: z.string().optional(),
  system: z.string().optional(),
  steps_per_turn: z.int().min(1),
  context_tokens: z.int().min(1).optional(),
  load_tool: z.boolean(),
  use_agent: z.array(z.string()),
  shell_seconds: z.number().positive().optional(),
});

const message = z.looseObject({
  message_id: z.string(),
  role: z.enum(['user', 'assistant', 'tool']),
  content: z.array(z.looseObject({ type: z.string() })),
});

const inputs = {
  chat: z.object({
    message_id: z.string(),
    message: z.string().optional(),
    /** The conversation before this message; null for a new agent. */
    session: z
      .object({ messages: z.array(message), snapshot: z.unknown() })
      .nullable()
      .optional(),
    settings: settingsSchema.optional(),
  }),
  cancel: z.object({ message_id: z.string() }),
  health: z.object({}),
  history: z.object({ count: z.int().min(1) }),
};

const initial: Settings = { steps_per_turn: 50, load_tool: false, use_agent: [] };

const server = new Server(
  { name: 'agenthub-agent', version: '1.0.0' },
  {
    capabilities: { tools: {} },
    // The agent sends no elicitations, so it needs no validator. The default one takes a tenth of the start-up time.
    jsonSchemaValidator: {
      getValidator() {
        throw new TypeError('the agent elicits nothing');
      },
    },
  },
);
const link = createHubLink(server);
const engine = createStrandsEngine(link, initial);
const turns = createTurns(engine, () => link.reconnected());

async function act(name: string, args: unknown): Promise<object> {
  switch (name) {
    case 'chat': {
      const { message_id: id, message: text, session, settings } = inputs.chat.parse(args);
      return await turns.chat(id, text, {
        settings,
        session: session as Session | null | undefined, // An earlier agent wrote it.
      });
    }
    case 'cancel':
      return { cancelled: turns.cancel(inputs.cancel.parse(args).message_id) };
    case 'health':
      return {
        ...engine.health(),
        queued: turns.queued,
        uptime_ms: Math.round(process.uptime() * 1000),
      };
    case 'history':
      return { messages: engine.history(inputs.history.parse(args).count) };
    default:
      throw new TypeError(`${name} is not a tool of the agent`);
  }
}

server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: Object.entries(inputs).map(([name, schema]) => ({
    name,
    description: `For the hub: ${name}`,
    inputSchema: { type: 'object' as const, ...z.toJSONSchema(schema) },
  })),
}));
server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
  const structuredContent = { ...(await act(params.name, params.arguments)) };
  return { content: [], structuredContent };
});

const end = () => process.exit(0);
process.on('SIGTERM', end);
process.on('SIGINT', end);
process.stdin.on('end', end);
createHttpApi(engine, turns).listen(Number(process.env['CONTAINER_PORT'] ?? 8080), '127.0.0.1');
await server.connect(new StdioServerTransport());
