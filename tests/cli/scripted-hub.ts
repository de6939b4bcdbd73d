import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { HubClient } from '../../hub/cli/hub-client.ts';
import { createManualClock } from '#helpers/clock';

type Script = {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Chunks of the body. */
  readonly body?: readonly (string | Buffer)[];
  /** True if the connection breaks after the body. */
  readonly breaks?: boolean;
};

/** Returns a response like one of Node's HTTP client, without a connection. */
export function responseOf({ status = 200, headers = {}, body = [], breaks }: Script) {
  const response = new IncomingMessage(new Socket());
  response.statusCode = status;
  Object.assign(response.headers, headers);
  for (const chunk of body) response.push(chunk);
  if (breaks) setImmediate(() => response.destroy(new Error('aborted')));
  else response.push(null);
  return response;
}

type Sent = Parameters<HubClient['send']>[0];

/** Creates a client of a hub whose answers the test scripts. */
export function createScriptedHub(parts: Partial<HubClient>) {
  const sent: Sent[] = [];
  const { send, ask } = parts;
  const refuse = async () => {
    throw new TypeError('not expected');
  };
  const hub: HubClient = {
    url: 'http://hub.test',
    clock: createManualClock(),
    async *follow() {},
    errorOf: async () => undefined,
    ...parts,
    send: async request => {
      sent.push(request);
      return await (send ?? refuse)(request);
    },
    ask: async request => {
      sent.push(request);
      return await (ask ?? refuse)(request);
    },
  };
  return { hub, sent };
}
