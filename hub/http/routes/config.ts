import type { FastifyInstance } from 'fastify';
import { HubError, type JsonObject, isObject } from '#core';
import { administered } from './administered.ts';
import { refuseBody } from './bodies.ts';

/** The current config, and its reload. */
export type ConfigControl = {
  /**
   * Reads the files and applies the changes. Rejects with HubError, without a change, if the files are invalid.
   * `allow` names servers whose entries wait for confirmation; rejects with HUB_REQUEST_INVALID if one does not wait.
   */
  reload(allow?: readonly string[]): Promise<JsonObject>;
  /** The state that `/health` shows. `error` says why the current files are not applied. */
  status(): { readonly loadedAt: number; readonly error: string | undefined };
};

/** `POST /config/reload` (spec 2.1). */
export function configRoutes(
  app: FastifyInstance,
  { config }: { readonly config: Pick<ConfigControl, 'reload'> },
): void {
  app.post('/config/reload', administered, async request => {
    const { allow, ...others } = isObject(request.body) ? request.body : {};
    refuseBody(others, 'POST /config/reload, but for "allow",');
    return await config.reload(namesOf(allow));
  });
}

function namesOf(allow: unknown): readonly string[] {
  if (allow === undefined) return [];
  if (Array.isArray(allow) && allow.every(name => typeof name === 'string')) return allow;
  throw new HubError('HUB_REQUEST_INVALID', 'allow: write a list of the names of servers');
}
