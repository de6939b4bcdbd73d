import type { JsonObject } from '#core';
import type { LaunchEvents, LaunchSpec } from './runtime.ts';

/** Something that was made for a server and is still there when the server does not run. */
export type Belonging = {
  readonly kind: 'image' | 'volume' | 'folder';
  /** What its runtime knows it by. */
  readonly name: string;
};

/** What servers need before they start, and what they leave when they are not wanted any more. */
export interface Upkeep {
  /**
   * Brings there what a launch needs, and answers with what that is. Throws HubError, with the words of
   * whoever could not do it; whoever gives up aborts the signal.
   */
  prepare(spec: LaunchSpec, events: LaunchEvents, signal: AbortSignal): Promise<JsonObject>;
  /** All that a launch may leave, whether it is there now or not. Throws HubError where that cannot be told. */
  candidates(spec: LaunchSpec): Promise<readonly Belonging[]>;
  /** What is there of it now, as far as it was made by a hub. Throws HubError where that cannot be told. */
  belongings(spec: LaunchSpec): Promise<readonly Belonging[]>;
  /** Removes one; one that is gone is no error. Throws HubError where it is in use, or is not the hub's. */
  discard(belonging: Belonging): Promise<void>;
}
