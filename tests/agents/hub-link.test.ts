import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { expect, test } from 'vitest';
import { createHubLink } from '../../images/agent/source/hub-link.ts';

/** Connects an agent to a hub that reads its requests, and answers only when the test does. */
async function linkToHub() {
  const server = new Server({ name: 'agent', version: '1' }, { capabilities: {} });
  const asked: { readonly id: unknown; readonly method: string }[] = [];
  let next = Promise.withResolvers<void>();
  const transport: Parameters<typeof server.connect>[0] = {
    start: async () => {},
    close: async () => {},
    async send(message) {
      if (!('method' in message) || !('id' in message)) return;
      asked.push({ id: message.id, method: message.method });
      next.resolve();
      next = Promise.withResolvers();
    },
  };
  await server.connect(transport);
  return {
    link: createHubLink(server),
    asked,
    /** Resolves when the agent has sent `count` requests. */
    untilAsked: async (count: number): Promise<void> => {
      while (asked.length < count) await next.promise;
    },
    answer: (result: { [key: string]: unknown }): void => {
      const id = asked.at(-1)?.id;
      if (typeof id === 'number') transport.onmessage?.({ jsonrpc: '2.0', id, result });
    },
  };
}

const never = new AbortController().signal;

test('tools are listed by the next run of a hub that was killed before it answered', async () => {
  const { link, asked, untilAsked, answer } = await linkToHub();
  const listed = link.tools(never);
  await untilAsked(1);
  link.reconnected();
  await untilAsked(2);
  answer({ tools: [{ name: 'memory_read_graph', inputSchema: {} }] });
  expect((await listed).map(({ name }) => name)).toEqual(['memory_read_graph']);
  expect(asked.map(({ method }) => method)).toEqual(['tools/list', 'tools/list']);
});

test('a call of a tool is not repeated, because it may have taken effect', async () => {
  const { link, asked, untilAsked } = await linkToHub();
  const called = link.call('memory_create_entities', {}, never);
  await untilAsked(1);
  link.reconnected();
  await expect(called).rejects.toMatchObject({
    code: 'HUB_CALL_CANCELLED',
    message: expect.stringContaining('whether it took effect is unknown'),
  });
  expect(asked).toHaveLength(1);
});
