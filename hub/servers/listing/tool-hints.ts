import { isObject, tryParseJson } from '#core';
import { type Hints, hintsOf } from '#policy';
import type { Server } from '../server-types.ts';
import type { Item } from './listing.ts';

type Listed = Pick<Server, 'listing'>;
type Configured = Listed & Pick<Server, 'config'>;

/** The hints of the tools of each list, parsed once per list. */
const hintsIn = new WeakMap<readonly Item[], ReadonlyMap<string, Hints>>();
const unlisted = hintsOf(undefined);

/** Returns the hints in a tool's definition, such as `readOnlyHint`. A tool that is not listed may do anything. */
export function toolHints({ listing: { tool } }: Listed, name: string | undefined): Hints {
  const known =
    hintsIn.get(tool) ??
    new Map(tool.map(({ key, bytes }) => [key, hintsOf(annotationsIn(bytes))]));
  hintsIn.set(tool, known);
  return (name === undefined ? undefined : known.get(name)) ?? unlisted;
}

function annotationsIn(definition: Buffer): unknown {
  const tool = tryParseJson(definition.toString());
  return isObject(tool) ? tool['annotations'] : undefined;
}

/** True if `cache` of the config names a tool, and the tool declares the hints that caching requires. */
export function isKept(server: Configured, name: string): boolean {
  const { tools = [], hints } = server.config.cache ?? {};
  const { readOnlyHint, idempotentHint } = toolHints(server, name);
  return tools.includes(name) && readOnlyHint && (idempotentHint || hints === 'read_only');
}

/**
 * Tools in `cache` of the config whose results are not cached, because they do not declare the hints that caching
 * requires.
 */
export const unkeptToolsOf = (server: Configured): readonly string[] =>
  (server.config.cache?.tools ?? []).filter(
    name => !isKept(server, name) && server.listing.tool.some(({ key }) => key === name),
  );
