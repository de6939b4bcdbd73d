import type { FastifyInstance } from 'fastify';
import type { JsonObject } from '#core';
import { administered } from './administered.ts';
import { refuseBody } from './bodies.ts';

/** The config in force, and how it is read anew. */
export type ConfigControl = {
  /**
   * Reads the files and applies what changed. Resolves when that is done; rejects with HubError where they
   * are not valid, and nothing has changed.
   */
  reload(): Promise<JsonObject>;
  /** What `/health` says of it. `error` is why what the files say now is not in force. */
  status(): { readonly loadedAt: number; readonly error: string | undefined };
};

/** `POST /config/reload` (spec 2.1). */
export function configRoutes(
  app: FastifyInstance,
  { config }: { readonly config: Pick<ConfigControl, 'reload'> },
): void {
  app.post('/config/reload', administered, async request => {
    refuseBody(request.body, 'POST /config/reload');
    return await config.reload();
  });
}
