import { HubError, isObject, tryParseJson } from '#core';
import type { HubClient } from './hub-client.ts';

type Work = {
  readonly path: string;
  readonly body: object | undefined;
  /** Called with the progress, as `step: text`. */
  readonly progress: (text: string) => void;
};

/**
 * Requests work from the hub, reports its progress, and resolves with the result. Rejects with the error of the hub.
 */
export async function followWork(hub: HubClient, { path, body, progress }: Work): Promise<unknown> {
  for await (const { type, data } of hub.follow({ method: 'POST', path, body })) {
    const value = tryParseJson(data);
    if (type === 'done') return value;
    if (isObject(value)) progress(`${String(value['step'])}: ${String(value['text'])}`);
  }
  throw new HubError(
    'HUB_CONNECT_FAILED',
    `the hub at ${hub.url} closed the connection before the work was done. See its log and "agenthub list"`,
  );
}
