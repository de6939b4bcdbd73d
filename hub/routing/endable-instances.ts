import { type Principal, isSamePrincipal } from '#policy';
import type { Server } from '#servers';
import type { SessionState } from './session.ts';

type SessionWithInstances = Pick<SessionState, 'principal' | 'isConnected'> & {
  readonly instances: ReadonlyMap<Server, Pick<Server, 'status'>>;
};

/** True if the instances of this holder may be stopped to make room. */
export type MayEnd = (holder: object) => boolean;

/**
 * Creates the choice of instances that may be stopped to make room for another client of a server: not those of a
 * session with a connected client. A client that reconnects may find its instances stopped. A named client with more
 * than half of the instances may lose some although it is connected, so that it cannot keep other clients out.
 */
export const createEndable =
  (sessions: () => readonly SessionWithInstances[]) =>
  (server: Server, asker: Principal): MayEnd => {
    let open: readonly SessionWithInstances[] | undefined;

    function isGreedy(principal: Principal): boolean {
      if (principal.kind === 'local' || isSamePrincipal(principal, asker)) return false;
      const own = (open ?? []).filter(({ principal: other, instances }) => {
        const instance = instances.get(server);
        return (
          instance?.status.state !== 'stopped' && instance && isSamePrincipal(other, principal)
        );
      });
      return own.length > server.config.maxInstances / 2;
    }

    return holder => {
      open ??= sessions();
      const session = open.find(one => one === holder);
      return !session?.isConnected() || isGreedy(session.principal);
    };
  };
