import type { Clock, Log } from '#core';
import type { ReplyBytes } from '#jsonrpc';
import type { Server, Servers } from '#servers';
import type { ClientRequests } from '../events/client-requests.ts';
import { type Answerer, type Call, type ResolvedCall, ownCall, hubReply } from '../call.ts';
import type { Catalog } from '../catalog.ts';
import type { SuspendedCalls } from '../bridge/input-required.ts';
import type { LogLevels } from '../events/log-levels.ts';
import type { SubscriptionStreams } from '../events/subscription-streams.ts';
import type { Lists, Offering } from '../lists.ts';
import type { OlderClients } from '../older-clients.ts';
import type { PromptSource } from '../steps/prompt-source.ts';
import type { StatelessClients } from '../stateless-clients.ts';
import type { Subscriptions } from '../events/subscriptions.ts';
import type { Tasks } from '../tasks/tasks.ts';
import type { UrlElicitations } from '../events/url-elicitations.ts';

/** Dependencies of the methods. */
export type MethodNeeds = {
  readonly servers: Servers;
  readonly catalog: Catalog;
  readonly lists: Lists;
  readonly subscriptions: Subscriptions;
  readonly streams: SubscriptionStreams;
  readonly levels: LogLevels;
  readonly tasks: Tasks;
  readonly clientRequests: ClientRequests;
  readonly suspendedCalls: SuspendedCalls;
  readonly urlElicitations: UrlElicitations;
  readonly statelessClients: StatelessClients;
  readonly olderClients: OlderClients;
  /** The client's own offering on the endpoint of all servers; undefined if the client gets the shared offering. */
  readonly ownOfferingOf: (call: Call) => Offering | undefined;
  /** Undefined: the hub improves no prompts. */
  readonly prompts: PromptSource | undefined;
  /** True if the instances of this session may be stopped to make room for others. */
  readonly mayEnd: (session: object) => boolean;
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly log: Log;
  readonly hubVersion: string;
  /** Updates the set of resources and tasks that the hub listens for at a server. */
  readonly watch: (server: Server) => void;
  /** Called when a session sets another log level. */
  readonly logLevelChanged: () => void;
  /** Relays a call to its server through the usual steps. */
  readonly relay: Answerer;
  /** Sends an admitted call to its server. */
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
      traced => {
        const bytes = answer(traced, needs);
        return bytes instanceof Promise ? bytes.then(hubReply) : hubReply(bytes);
      },
      serverFor?.(call),
    );

/** The server of a endpoint of one server. Throws a TypeError for a endpoint of all servers, which is a bug. */
export function serverOf({ session }: Call): Server {
  if (session.endpoint === 'all') throw new TypeError('a endpoint of one server was expected');
  return session.endpoint;
}
