import type { Server } from './server-types.ts';

/** Starts a server, even if it was stopped by hand or has failed, and waits until it answers. */
export async function startNow(server: Server): Promise<void> {
  if (server.config.enabled) {
    server.admission.reset();
    server.start();
  }
  await server.ready();
}

/** Stops a server and starts it again. Rejects with HubError if it does not answer then. */
export async function restartNow(server: Server): Promise<void> {
  await server.stop(false);
  await startNow(server);
}
