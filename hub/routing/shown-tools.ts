import { type Principal, hintsOf } from '#policy';
import type { Server, Servers } from '#servers';
import type { Access } from './access.ts';
import type { AccessSource } from './access-rules.ts';
import type { Catalog } from './catalog.ts';
import { describeOwnTool } from './find/own-tools.ts';
import type { Endpoint } from './session.ts';

/** A tool of a server, as the endpoint of all servers shows it to clients that may use everything. */
export type ShownTool = {
  /** The name that the server itself gives the tool. */
  readonly name: string;
  readonly publicName: string;
  /** The tool as the list contains it, in JSON. */
  readonly bytes: Buffer;
  /** True if the definition is not the accepted one: no list contains the tool. */
  readonly isHeld: boolean;
};

/** Describes the tools of the catalog as clients see them. */
export function createShownTools(
  catalog: Pick<Catalog, 'changed' | 'find' | 'findAt' | 'list'>,
  source: Pick<AccessSource, 'toolsOf'>,
  access: Pick<Access, 'mayFind' | 'viewOf'>,
  servers: Pick<Servers, 'all'>,
) {
  function toolAt(server: Server, shown: string): Buffer | undefined {
    const own = source.toolsOf(server.config.name)?.rename
      ? catalog.findAt(server, 'tool', shown)?.name
      : shown;
    return server.listing.tool.find(({ key }) => key === own)?.bytes;
  }

  return {
    /**
     * Returns a tool as a client of the endpoint sees it, in JSON; undefined if the endpoint does not list it, or if
     * the policy hides it from `viewer`.
     */
    describeTool(endpoint: Endpoint, publicName: string, viewer?: Principal): Buffer | undefined {
      const entry =
        endpoint === 'all'
          ? catalog.find('tool', publicName)
          : catalog.findAt(endpoint, 'tool', publicName);
      if (viewer && entry && !access.mayFind(viewer, entry)) return undefined;
      return endpoint === 'all'
        ? (entry?.bytes ?? describeOwnTool(publicName))
        : toolAt(endpoint, publicName);
    },
    /**
     * False if the policy hides a tool from a principal. If no server lists the tool, its name decides: it counts as a
     * tool of each server whose name it begins with.
     */
    mayHearOfTool(principal: Principal, publicName: string): boolean {
      const entry = catalog.find('tool', publicName);
      if (entry) return access.mayFind(principal, entry);
      const view = access.viewOf(principal);
      if (!view) return true;
      const hints = () => hintsOf(undefined);
      const item = { kind: 'tool', name: publicName, ownName: publicName, hints } as const;
      const names = servers.all.map(({ config }) => config.name);
      return [undefined, ...names.filter(name => publicName.startsWith(name))].every(
        server =>
          view.policy.decide({ method: 'tools/call', server, item }, view.client).action !== 'deny',
      );
    },
    /** Calls the listener after each change of the list of tools. */
    toolsChanged: (listener: () => void): Disposable =>
      catalog.changed(kind => {
        if (kind === 'tool') listener();
      }),
    /** Returns all tools by server, including tools that no client sees. */
    shownTools: (): ReadonlyMap<Server, readonly ShownTool[]> => {
      const found = new Map<Server, ShownTool[]>();
      for (const { server, name, publicName, bytes, isHeld = false } of catalog.list('tool')) {
        const tools = found.get(server) ?? [];
        found.set(server, tools);
        tools.push({ name, publicName, bytes, isHeld });
      }
      return found;
    },
  };
}
