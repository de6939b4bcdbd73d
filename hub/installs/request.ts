import type { Json, JsonObject } from '#core';
import type { ServerJson } from './server-json.ts';

/** What a caller wants to be installed. */
export type InstallRequest = {
  /** Undefined: one is made from what is installed, that no other server has. */
  readonly name: string | undefined;
  /** A package, an image or an address as text, or what the official registry has of a server. */
  readonly source: { readonly package: string } | { readonly server: ServerJson };
  readonly transport: 'stdio' | 'http' | 'sse' | undefined;
  /** What `{name}` stands for in what the registry has, and the values of its arguments and variables. */
  readonly variables: Readonly<Record<string, string>>;
  readonly args: readonly string[] | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** The names of the loosenings of the sandbox that the caller agrees to: each that the entry has, and no other. */
  readonly confirm: readonly string[];
  /** The other keys of an entry, as they are to stand in the file. */
  readonly rest: JsonObject;
};

/** The steps of an install, in their order; not every install has each. */
export type Step = 'validate' | 'resolve' | 'build' | 'pull' | 'trial' | 'write';

/** A line for whoever watches an install. */
export type Progress = { readonly step: Step; readonly text: string };

/** What a request comes to: an entry for the file. */
export type Draft = {
  /** What the server may be called where the caller says nothing. */
  readonly name: string;
  readonly entry: Entry;
  /** Paths in the entry whose values are secret by what their publisher says: `env.API_KEY`. */
  readonly secrets: ReadonlySet<string>;
};

/** A server as a config file has it: its strings may hold `${NAME}`. */
export type Entry = { readonly [key: string]: Json };
