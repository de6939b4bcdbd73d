import { expect, test } from 'vitest';
import { ownServerConfig } from '#config';
import { createEmitter, silent } from '#core';
import { readMessage } from '#jsonrpc';
import type { Running, ServerStatus } from '#servers';
import type { ServerNotification, ServerRequest } from '#upstream';
import { defaultSettings } from '../../../hub/agents/agent-settings.ts';
import { createGateway } from '../../../hub/agents/host/gateway.ts';
import { createManualClock } from '../../helpers/clock.ts';

const unused = () => {
  throw new Error('the test does not use it');
};

const connection = {
  callerOf: unused,
  ended: new AbortController().signal,
  notify: unused,
  onlyCaller: unused,
  onlyOwner: unused,
};

test('only the first page of a list of tools starts granted servers', async () => {
  const requests = createEmitter<ServerRequest>();
  const started: string[] = [];
  const slow = {
    config: ownServerConfig('slow', { launch: { runtime: 'process', logs: 'none' } }),
    listing: { tool: [], prompt: [], resource: [], template: [] },
    running: undefined,
    ready(): Promise<Running> {
      started.push('slow');
      return Promise.reject(new Error('it does not start'));
    },
  };
  using _gateway = createGateway(
    'ada',
    {
      running: undefined,
      serverRequest: requests.event,
      notified: createEmitter<ServerNotification>().event,
      changed: createEmitter<ServerStatus>().event,
    },
    {
      clock: createManualClock(),
      desk: {
        settings: () => ({
          ...defaultSettings,
          grants: { ...defaultSettings.grants, servers: ['slow'] },
        }),
        spending: { earlier: () => [], save: unused },
        created: unused,
        useAgent: unused,
        heard: unused,
      },
      sampling: { answer: unused },
      budget: { turn: unused, check: unused, spent: unused, status: { tokens: 0, calls: 0 } },
      session: { request: async () => ({ tools: [] }), close: () => {} },
      servers: { all: [slow] },
      log: silent,
    },
  );
  for (const params of [{}, { cursor: 'next' }]) {
    const { promise, resolve } = Promise.withResolvers<Buffer>();
    const request = readMessage(
      Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params })),
    );
    if (request.kind !== 'request') throw new Error('it is a request');
    requests.fire({ request, connection, about: undefined, answer: resolve, tell: unused });
    expect(JSON.parse(String(await promise))).toMatchObject({ result: { tools: [] } });
  }
  expect(started).toEqual(['slow']);
});
