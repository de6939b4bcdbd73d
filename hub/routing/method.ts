import type { JsonObject } from '#core';
import type { Request } from '#rpc';
import type { Servers } from '#servers';
import type { Catalog } from './catalog.ts';
import type { Lists } from './lists.ts';
import type { Exchange, SessionState } from './session.ts';
import type { Subscriptions } from './subscriptions.ts';

/** What the methods work with. */
export type MethodNeeds = {
  readonly servers: Servers;
  readonly catalog: Catalog;
  readonly lists: Lists;
  readonly subscriptions: Subscriptions;
  readonly hubVersion: string;
  /** Called when a session chose another log level. */
  readonly logLevelChanged: () => void;
  /** What `hub://servers` reads as. */
  readonly snapshot: () => JsonObject;
};

/** Handles one request; the bytes of the answer. Throws HubError for an error answer. */
export type Method = (
  request: Request,
  session: SessionState,
  exchange: Exchange,
  needs: MethodNeeds,
) => Buffer | Promise<Buffer>;
