import type { JsonObject } from '#core';
import type { LaunchEvents, LaunchSpec } from './runtime.ts';

/** An object that was created for a server and remains when the server is stopped. */
export type Belonging = {
  readonly kind: 'image' | 'volume' | 'folder';
  /** Name in the runtime. */
  readonly name: string;
};

/** Prepares servers for their first start, and cleans up after their removal. */
export interface Upkeep {
  /** Builds or pulls what a launch needs, and returns a description. Rejects with HubError. */
  prepare(spec: LaunchSpec, events: LaunchEvents, signal: AbortSignal): Promise<JsonObject>;
  /** All belongings that a launch may create, whether they exist or not. Rejects with HubError. */
  candidates(spec: LaunchSpec): Promise<readonly Belonging[]>;
  /** The candidates that exist and were created by a hub. Rejects with HubError. */
  belongings(spec: LaunchSpec): Promise<readonly Belonging[]>;
  /** Removes a belonging, if it exists. Rejects with HubError if it is in use, or does not belong to the hub. */
  discard(belonging: Belonging): Promise<void>;
}
