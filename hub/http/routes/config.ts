import type { FastifyInstance } from 'fastify';
import { HubError, type JsonObject, isObject } from '#core';
import { administered } from './administered.ts';
import { refuseBody } from './bodies.ts';

/** The config in force, and how it is read anew. */
export type ConfigControl = {
  /**
   * Reads the files and applies what changed. Resolves when that is done; rejects with HubError where they
   * are not valid, and nothing has changed. `allow` names servers whose entries wait for a person; rejects with
   * HUB_REQUEST_INVALID where one of them does not.
   */
  reload(allow?: readonly string[]): Promise<JsonObject>;
  /** What `/health` says of it. `error` is why what the files say now is not in force. */
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
