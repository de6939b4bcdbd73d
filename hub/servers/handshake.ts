import { HubError, isObject } from '#core';
import {
  type Answer,
  isKnownVersion,
  latestVersion,
  membersOf,
  protocolVersions,
  valueOf,
} from '#rpc';
import type { Upstream } from './upstream.ts';

/** What a server said when it was initialised. */
export type Introduction = {
  /** The whole answer: `payload` is the result as the server wrote it. */
  readonly answer: Answer;
  readonly protocolVersion: string;
  readonly capabilities: { readonly [name: string]: unknown };
  readonly serverInfo: { readonly name: string; readonly version: string };
  readonly instructions: string | undefined;
};

export const hubInfo = { name: 'agenthub', title: 'AgentHub' };

/** Initialises a server (MCP 2025-11-25, lifecycle). Rejects with HubError where it does not answer. */
export async function introduce(
  server: string,
  upstream: Pick<Upstream, 'request' | 'notify'>,
  hubVersion: string,
  timeoutMs: number,
): Promise<Introduction> {
  const answer = await upstream.request(
    'initialize',
    {
      protocolVersion: latestVersion,
      capabilities: {},
      clientInfo: { ...hubInfo, version: hubVersion },
    },
    timeoutMs,
  );
  const result = membersOf(answer.bytes, answer.payload);
  const member = (name: string) => valueOf(answer.bytes, result?.get(name));
  const protocolVersion = member('protocolVersion');
  if (!isKnownVersion(protocolVersion))
    throw new HubError(
      'HUB_SERVER_PROTOCOL',
      `${server} speaks MCP ${JSON.stringify(protocolVersion)}; the hub speaks ${protocolVersions.join(', ')}`,
      { data: { server } },
    );
  const capabilities = member('capabilities');
  const info = member('serverInfo');
  const instructions = member('instructions');
  upstream.notify('notifications/initialized');
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  return {
    answer,
    protocolVersion,
    capabilities: isObject(capabilities) ? capabilities : {},
    serverInfo: {
      name: isObject(info) ? text(info['name']) : '',
      version: isObject(info) ? text(info['version']) : '',
    },
    instructions: typeof instructions === 'string' ? instructions : undefined,
  };
}
