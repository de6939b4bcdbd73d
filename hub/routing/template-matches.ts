import { setBounded } from '#core';
import type { Server } from '#servers';
import { type Budget, matcherOf } from './uri-template.ts';

/** A template of a server: its own text, and that on the endpoint of all servers. */
type Template = { readonly server: Server; readonly name: string; readonly publicName: string };

/** Templates of a server that one of its URIs may belong to. */
type MatchedTemplates<T> = {
  readonly server: Server;
  /** The first template that matches. */
  readonly first: T | undefined;
  /** That template, and those before it that are too costly to match. */
  readonly possible: readonly T[];
};

/** Maximum number of steps (some tenths of a ms) for matching one URI against the templates of one server. */
const stepsPerServer = 100_000;
/**
 * Maximum number of URIs with cached templates. For an updated resource, the policy asks about several spellings of its
 * URI for each subscriber.
 */
const maxUris = 32;

/** Finds the templates of a list that match URIs. */
export function createTemplateMatches<T extends Template>(templates: readonly T[]) {
  const matchers = templates.map(entry => ({ entry, matches: matcherOf(entry.publicName) }));
  const matched = new Map<string, MatchedTemplates<T>>();

  function match(server: Server, uri: string): MatchedTemplates<T> {
    const possible: T[] = [];
    const budget: Budget = { stepsLeft: stepsPerServer };
    const found = matchers.find(({ entry, matches }) => {
      if (entry.server !== server) return false;
      budget.isUnsure = false;
      const isMatch = matches(`${prefixOf(entry)}${uri}`, budget);
      if (isMatch || budget.isUnsure) possible.push(entry);
      return isMatch;
    });
    return { server, first: found?.entry, possible };
  }

  return {
    /** Finds the first template that matches a public URI. Each server has a budget that others cannot exhaust. */
    find(publicUri: string): T | undefined {
      const budgets = new Map<Server, Budget>();
      for (const { entry, matches } of matchers) {
        const budget = budgets.get(entry.server) ?? { stepsLeft: stepsPerServer };
        budgets.set(entry.server, budget);
        if (matches(publicUri, budget)) return entry;
      }
      return undefined;
    },
    /** Returns the templates of a server that its own URI may belong to. */
    at(server: Server, uri: string): MatchedTemplates<T> {
      const known = matched.get(uri);
      if (known?.server === server) return known;
      const made = match(server, uri);
      setBounded(matched, uri, made, maxUris);
      return made;
    },
  };
}

/** Returns the prefix of a public URI before the server's own URI. */
export const prefixOf = ({ publicName, name }: Omit<Template, 'server'>): string =>
  publicName.slice(0, publicName.length - name.length);
