import { isObject, tryParseJson } from '#core';
import { type Hints, hintsOf } from '#policy';
import type { Server } from '../server-types.ts';
import type { Item } from './listing.ts';

type Listed = Pick<Server, 'listing'>;

/** The hints of the tools of a list, which are read once. */
const hintsIn = new WeakMap<readonly Item[], ReadonlyMap<string, Hints>>();
const unlisted = hintsOf(undefined);

/** What a server says that a tool does. A tool that it does not list may do anything. */
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

/** Tools in `cache` of the config whose results are not kept, because they do not declare both hints. */
export function unkeptToolsOf(server: Listed & Pick<Server, 'config'>): readonly string[] {
  const { tool } = server.listing;
  return (server.config.cache?.tools ?? []).filter(name => {
    const { readOnlyHint, idempotentHint } = toolHints(server, name);
    return !(readOnlyHint && idempotentHint) && tool.some(({ key }) => key === name);
  });
}
