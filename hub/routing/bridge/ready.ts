import { HubError } from '#core';
import type { Running, Server } from '#servers';
import type { Call } from '../call.ts';
import { setWork } from '../session.ts';

/** Waits for a server to start. If the client cancels meanwhile, its request is not sent. */
export async function whenReady(call: Call, server: Server): Promise<Running> {
  const cancelled = Promise.withResolvers<never>();
  const { name } = server.config;
  setWork(call.cancellation, {
    cancel: () =>
      cancelled.reject(
        new HubError('HUB_CALL_CANCELLED', `the client cancelled while ${name} started`, {
          data: { server: name },
        }),
      ),
  });
  return await Promise.race([server.ready(), cancelled.promise]);
}
