/** Properties of well-known servers that their command lines do not show. */
export type KnownPackage = {
  /** Hosts that the server calls, as targets of `network.allow`; `bridge` for a server that opens any address. */
  readonly network?: readonly string[] | 'bridge' | undefined;
  /** True if the server works on folders, which its calls may name too. Without a folder it can do nothing. */
  readonly wantsFolder?: true;
  /** True if the server runs git, which refuses repositories of another user unless they are declared safe. */
  readonly runsGit?: true;
};

const hosts = (...network: readonly string[]): KnownPackage => ({ network });
const anywhere: KnownPackage = { network: 'bridge' };
const alone: KnownPackage = { network: [] };

/** Known servers: npm packages by name, PyPI packages after `pypi:`, images after `docker:`. */
const known: ReadonlyMap<string, KnownPackage> = new Map([
  ['@modelcontextprotocol/server-filesystem', { network: [], wantsFolder: true }],
  ['@modelcontextprotocol/server-memory', alone],
  ['@modelcontextprotocol/server-sequential-thinking', alone],
  ['@modelcontextprotocol/server-everything', alone],
  ['@modelcontextprotocol/server-github', hosts('api.github.com')],
  ['@modelcontextprotocol/server-gitlab', hosts('gitlab.com')],
  ['@modelcontextprotocol/server-brave-search', hosts('api.search.brave.com')],
  ['@brave/brave-search-mcp-server', hosts('api.search.brave.com')],
  ['@modelcontextprotocol/server-slack', hosts('slack.com', '*.slack.com')],
  ['@modelcontextprotocol/server-google-maps', hosts('maps.googleapis.com')],
  ['@modelcontextprotocol/server-puppeteer', anywhere],
  ['@playwright/mcp', anywhere],
  ['@notionhq/notion-mcp-server', hosts('api.notion.com')],
  ['@upstash/context7-mcp', hosts('context7.com', '*.context7.com')],
  ['@stripe/mcp', hosts('api.stripe.com')],
  ['@supabase/mcp-server-supabase', hosts('api.supabase.com')],
  ['@sentry/mcp-server', hosts('sentry.io', '*.sentry.io')],
  ['airtable-mcp-server', hosts('api.airtable.com')],
  ['exa-mcp-server', hosts('api.exa.ai')],
  ['figma-developer-mcp', hosts('api.figma.com')],
  ['firecrawl-mcp', hosts('api.firecrawl.dev')],
  ['tavily-mcp', hosts('api.tavily.com')],
  ['pypi:mcp-server-fetch', anywhere],
  ['pypi:mcp-server-git', { network: [], wantsFolder: true, runsGit: true }],
  ['pypi:mcp-server-sqlite', alone],
  ['pypi:mcp-server-time', alone],
  ['pypi:duckduckgo-mcp-server', anywhere],
  ['docker:mcp/fetch', anywhere],
  ['docker:mcp/filesystem', alone],
  ['docker:mcp/git', { network: [], runsGit: true }],
  ['docker:mcp/memory', alone],
  ['docker:mcp/time', alone],
  ['docker:mcp/github', hosts('api.github.com')],
  ['docker:mcp/brave-search', hosts('api.search.brave.com')],
  ['docker:mcp/slack', hosts('slack.com', '*.slack.com')],
  ['docker:ghcr.io/github/github-mcp-server', hosts('api.github.com')],
]);

/** Returns what is known of a server by its package or image, without the version; empty for any other server. */
export const findKnownPackage = (name: string | undefined): KnownPackage =>
  known.get(name ?? '') ?? {};
