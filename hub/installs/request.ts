import type { Json, JsonObject } from '#core';
import type { ServerJson } from './server-json.ts';

/** A caller's request to install a server. */
export type InstallRequest = {
  /** Name of the new server. Undefined: the hub derives a free name from the source. */
  readonly name: string | undefined;
  /** A package, an image or an address as text, or the server.json of a registry. */
  readonly source: { readonly package: string } | { readonly server: ServerJson };
  readonly transport: 'stdio' | 'http' | 'sse' | undefined;
  /** True for a server of a registry, which may run only in a container. */
  readonly isForeign?: boolean;
  /** Values for `{name}` placeholders in a server.json, and for its arguments and variables. */
  readonly variables: Readonly<Record<string, string>>;
  readonly args: readonly string[] | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** Names of the relaxed sandbox settings that the caller accepts. They must be exactly those of the entry. */
  readonly confirm: readonly string[];
  /** Other keys of the config entry, which are copied unchanged. */
  readonly rest: JsonObject;
};

/** A request to start a server once, without adding it. */
export type TrialRequest = {
  readonly name: string;
  /** The entry as it would be in the config file. */
  readonly entry: InstallEntry;
  /** Names of the relaxed sandbox settings that the caller accepts, as in `InstallRequest`. */
  readonly confirm: readonly string[];
};

/** The steps of an install, in order. Not every install has every step. */
export type InstallStep = 'validate' | 'resolve' | 'build' | 'pull' | 'trial' | 'write';

export type InstallProgress = { readonly step: InstallStep; readonly text: string };

/** The config entry that results from a request. */
export type Draft = {
  /** Name of the server if the request gives none. */
  readonly name: string;
  readonly entry: InstallEntry;
  /** True if the server may run only in a container or on a remote machine. */
  readonly isForeign?: boolean;
  /** Paths of values that the publisher marks as secret, such as `env.API_KEY`. */
  readonly secrets: ReadonlySet<string>;
};

/** The entry of a server in the config file. Its strings may contain `${NAME}`. */
export type InstallEntry = { readonly [key: string]: Json };
