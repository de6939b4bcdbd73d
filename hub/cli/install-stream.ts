import { HubError, isObject, tryParseJson } from '#core';
import type { HubClient } from './hub-client.ts';

type InstallCall = {
  readonly path: '/servers/install' | '/servers/try';
  readonly body: object;
  /** Called with each step, as `step: text`. */
  readonly progress: (text: string) => void;
};

/** Installs or tries a server, and resolves to the hub's answer. Rejects with the error of the hub. */
export async function followInstall(
  hub: HubClient,
  { path, body, progress }: InstallCall,
): Promise<unknown> {
  for await (const { type, data } of hub.follow({ method: 'POST', path, body })) {
    const value = tryParseJson(data);
    if (type === 'done') return value;
    if (isObject(value)) progress(`${String(value['step'])}: ${String(value['text'])}`);
  }
  throw new HubError(
    'HUB_CONNECT_FAILED',
    `the hub at ${hub.url} closed the connection before the install was done. See its log and "agenthub list"`,
  );
}
