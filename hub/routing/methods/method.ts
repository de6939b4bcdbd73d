import type { Log } from '#core';
import type { ReplyBytes } from '#jsonrpc';
import type { Server, Servers } from '#servers';
import { type Answerer, type Call, type ResolvedCall, hubReply, ownCall } from '../call.ts';
import type { Access } from '../access.ts';
import type { ClientInstances } from '../client-instances.ts';
import type { SubscriptionStreams } from '../events/subscription-streams.ts';
import type { FindMode } from '../find/find-mode.ts';
import type { Subscriptions } from '../events/subscriptions.ts';
import type { Tasks } from '../tasks/tasks.ts';

export type MethodNeeds = {
  /** The hub's own data, for the answers that it gives itself. */
  readonly hub: {
    readonly id?: string | undefined;
    readonly version: string;
    readonly servers: Pick<Servers, 'all'>;
    /** The tools of find mode. Absent: no client is in find mode. */
    readonly find?: FindMode | undefined;
  };
  readonly clients: ClientInstances;
  readonly access: Access;
  readonly subscriptions: Subscriptions;
  readonly streams: SubscriptionStreams;
  readonly tasks: Tasks;
  readonly log: Log;
  /** Called when a session sets another log level. */
  readonly logLevelChanged: () => void;
  readonly relay: Answerer;
  readonly bridge: Answerer;
};

/** Resolves a call to a server or to the hub's own answer. Throws HubError to refuse the call. */
export type Method = (call: Call, needs: MethodNeeds) => ResolvedCall;

/** Makes a method that the hub answers with these bytes. */
export const own =
  (
    answer: (call: Call, needs: MethodNeeds) => ReplyBytes | Promise<ReplyBytes>,
    serverFor?: (call: Call) => Server | undefined,
  ): Method =>
  (call, needs) =>
    ownCall(
      call,
      () => {
        const bytes = answer(call, needs);
        return bytes instanceof Promise ? bytes.then(hubReply) : hubReply(bytes);
      },
      serverFor?.(call),
    );

/**
 * Returns the server of an endpoint of one server. Throws TypeError for the endpoint of all servers, which is a bug.
 */
export function serverOf({ session }: Call): Server {
  if (session.endpoint === 'all') throw new TypeError('an endpoint of one server was expected');
  return session.endpoint;
}
