import type { Json, JsonObject } from '#core';
import type { ServerJson } from './server-json.ts';

/** A caller's request to install a server. */
export type InstallRequest = {
  /** If undefined, the hub derives a name from the source that no other server has. */
  readonly name: string | undefined;
  /** A package, an image or an address as text, or the server's entry in the official registry. */
  readonly source: { readonly package: string } | { readonly server: ServerJson };
  readonly transport: 'stdio' | 'http' | 'sse' | undefined;
  /** True for an entry of a registry, which only a container may run. */
  readonly isForeign?: boolean;
  /** Values for `{name}` in the registry entry, and for its arguments and variables. */
  readonly variables: Readonly<Record<string, string>>;
  readonly args: readonly string[] | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** The names of the sandbox loosenings that the caller accepts: exactly those that the entry has. */
  readonly confirm: readonly string[];
  /** The other keys of an entry, as the file will contain them. */
  readonly rest: JsonObject;
};

/** A request to start a server once, without adding it. */
export type TrialRequest = {
  readonly name: string;
  /** As the config file would contain it. */
  readonly entry: InstallEntry;
  /** As in an install. */
  readonly confirm: readonly string[];
};

/** The steps of an install, in order. Not every install has every step. */
export type InstallStep = 'validate' | 'resolve' | 'build' | 'pull' | 'trial' | 'write';

export type InstallProgress = { readonly step: InstallStep; readonly text: string };

/** The entry for the file that follows from a request. */
export type Draft = {
  /** The name of the server if the request gives none. */
  readonly name: string;
  readonly entry: InstallEntry;
  /** True if only a container, or a machine elsewhere, may run it. */
  readonly isForeign?: boolean;
  /** Paths of entry values that the publisher marks as secret, such as `env.API_KEY`. */
  readonly secrets: ReadonlySet<string>;
};

/** A server in a config file. Its strings may contain `${NAME}`. */
export type InstallEntry = { readonly [key: string]: Json };
