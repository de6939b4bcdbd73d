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
  /** What the hub says of itself. */
  readonly hub: {
    readonly id?: string | undefined;
    readonly version: string;
    readonly servers: Pick<Servers, 'all'>;
    /** Its own tools of find mode. Absent: no client is in that mode. */
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

/** Resolves a call. Throws HubError for an error answer. */
export type Method = (call: Call, needs: MethodNeeds) => ResolvedCall;

/** A method that the hub answers with these bytes. */
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

/** The server of an endpoint of one server. Throws a TypeError for the endpoint of all servers, which is a bug. */
export function serverOf({ session }: Call): Server {
  if (session.endpoint === 'all') throw new TypeError('an endpoint of one server was expected');
  return session.endpoint;
}
