import assert from 'node:assert/strict';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Scene, Step } from './documented-scene.ts';

let cursorToken = '';
let held = 0;
/** Makes a call that waits for an approval, and returns the id of the approval. */
async function hold({ hub }: Scene): Promise<string> {
  held += 1;
  const response = await fetch(`${hub.url}/mcp/memory/tools/call`, {
    method: 'POST',
    body: JSON.stringify({
      name: 'delete_entities',
      arguments: { entityNames: [`entity ${held}`] },
    }),
  });
  const answer = await response.text();
  return /agenthub approve (\w{8})/.exec(answer)?.[1] ?? assert.fail(answer);
}

/** Calls a tool of the server `files` as the client with this token. */
async function callFiles({ hub }: Scene, token: string): Promise<void> {
  const client = new Client({ name: 'cursor', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp`), { requestInit }),
  );
  await client.callTool({ name: 'files_list_allowed_directories' });
  await client.close();
}

/** Returns the id of the standing approval. */
async function findRule({ hub }: Scene): Promise<string> {
  const response = await fetch(`${hub.url}/approvals`, { headers: hub.ownerHeaders });
  const answer = await response.text();
  return /"standing":\[\{"id":"(\w{8})"/.exec(answer)?.[1] ?? assert.fail(answer);
}

const initialize = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'documented', version: '1' },
  },
})}\n`;
/** Returns the step of a client that connects over stdio and disconnects. */
const overStdio = (line: string): Step => ({ line, shows: /"serverInfo"/, input: initialize });

/** Commands that only read, which run in any order. */
export const readers: readonly Step[] = [
  { line: 'agenthub call memory_read_graph', shows: /"entities": \[\]/ },
  { line: 'curl -s localhost:9090/health', shows: /"status":"/ },
  {
    line: `curl -s localhost:9090/mcp/memory/tools/call -d '{"name": "read_graph", "arguments": {}}'`,
    shows: /"structuredContent":\{"entities"/,
  },
  { line: 'agenthub list', shows: /^memory +running/m },
  { line: 'agenthub list --tokens', shows: /memory.* \d+/ },
  { line: 'agenthub list --tools --tokens', shows: /memory_read_graph/ },
  { line: 'agenthub tools', shows: /memory_read_graph/ },
  { line: 'agenthub tools files', shows: /files_write_file/ },
  { line: 'agenthub search postgres', shows: /io\.github\.someone\/postgres/ },
  { line: 'agenthub install io.github.someone/postgres --dry-run', shows: /server-memory/ },
  { line: 'agenthub prune --dry-run', shows: /^No image can be removed\.$/m },
  { line: 'agenthub prune', shows: /^No image can be removed\.$/m },
  { line: 'agenthub audit', shows: /hub_started/ },
  { line: 'agenthub audit --denied', shows: /no line of the audit log matches/ },
  { line: 'agenthub audit --denied --since 1h', shows: /no line of the audit log matches/ },
  { line: 'agenthub audit verify', shows: /no line was changed or removed/ },
  { line: 'agenthub check', shows: /fine, 3 servers/ },
  { line: 'agenthub doctor', code: 1, shows: /^ +hub +answers at /m },
  { line: 'agenthub check --live', shows: /^Ollama: not used/m },
  { line: 'agenthub logs', shows: /^memory \| Knowledge Graph/m },
  { line: 'agenthub logs memory', shows: /^Knowledge Graph/m },
  { line: 'agenthub logs memory -t', shows: /^\d{4}-\S+Z Knowledge Graph/m },
  { line: 'agenthub logs memory -f', shows: /^Knowledge Graph/m, isEndless: true },
  { line: 'agenthub logs memory --json -n 5', shows: /"name": "memory"/ },
  { line: 'agenthub logs --hub', shows: /^AgentHub listens /m },
  { line: 'agenthub logs hub', shows: /^AgentHub listens /m },
  { line: 'agenthub policy', shows: /^policy\[0\] /m },
  {
    line: 'agenthub policy test --client cursor --tool files_write_file',
    shows: /allowed if a person approves/,
  },
  {
    line: 'agenthub policy test --client cursor --tool memory_delete_entities',
    shows: /allowed if a person approves/,
  },
  {
    line: 'agenthub policy test --client cursor --tool NAME',
    shows: /^allowed: the tool "memory_read_graph" to cursor/m,
    before: async () => ({ NAME: 'memory_read_graph' }),
  },
  { line: 'agenthub pins', shows: /^memory +pinned: 9 tools/m },
  { line: 'agenthub jobs', shows: /^The hub at \S+ keeps no jobs|^ID /m },
  {
    line: 'curl -H "Authorization: Bearer $(agenthub key)"',
    shows: /"lines":\[/,
    before: async ({ hub }) => ({ curl: `curl -s ${hub.url}/audit` }),
  },
  { line: 'agenthub key', shows: /^[\w-]{20,}$/m },
  { line: 'agenthub schema --task', shows: /"\$schema"/ },
  { line: 'agenthub completion bash', shows: /complete .*agenthub/ },
  { line: 'agenthub service print', shows: /ExecStart=/ },
  { line: 'agenthub open', shows: /\/dashboard\/login\?code=/ },
  { line: 'agenthub connect cursor --dry-run', shows: /mcp\.json/ },
  {
    line: `curl -s localhost:9090/ollama/enhance -H 'Content-Type: application/json' -H 'X-Client-Name: vscode' -d '{"prompt": "fix the parser"}'`,
    shows: /fix the parser/,
  },
];

/** Commands that change something. Each group runs in its order. */
export const sequences: Readonly<Record<string, readonly Step[]>> = {
  tokens: [
    {
      line: 'agenthub token create cursor',
      shows: /^[\w-]{40,}$/m,
      after: output => {
        cursorToken = /^[\w-]{40,}$/m.exec(output)?.[0] ?? '';
      },
    },
    { line: 'agenthub token list', shows: /^cursor +made /m },
    {
      line: `agenthub audit -f --client cursor --tool 'files_*'`,
      shows: / cursor +files_list_allowed_directories/,
      isEndless: true,
      before: async scene => {
        await callFiles(scene, cursorToken);
        return {};
      },
    },
    { line: 'agenthub token revoke cursor', shows: /token of cursor is revoked/ },
    {
      line: 'agenthub token create NAME',
      shows: /^[\w-]{40,}$/m,
      before: async () => ({ NAME: 'claude-code' }),
    },
    { line: 'agenthub token revoke claude-code', shows: /token of claude-code is revoked/ },
  ],
  tools: [
    { line: 'agenthub tools disable files_write_file', shows: /^files: write_file off$/m },
    { line: 'agenthub tools enable files_write_file', shows: /^files: write_file on$/m },
    { line: 'agenthub reload', shows: /unchanged/ },
  ],
  approvals: [
    {
      line: 'agenthub approvals',
      shows: /memory_delete_entities/,
      before: async scene => ({ none: await hold(scene) }),
    },
    {
      line: 'agenthub approve ID',
      shows: /is approved\.$/m,
      before: async scene => ({ ID: await hold(scene) }),
    },
    {
      line: 'agenthub approve 3f2a9c1d',
      shows: /is approved\.$/m,
      before: async scene => ({ '3f2a9c1d': await hold(scene) }),
    },
    {
      line: 'agenthub deny 3f2a9c1d',
      shows: /is denied\.$/m,
      before: async scene => ({ '3f2a9c1d': await hold(scene) }),
    },
    {
      line: 'agenthub approve 3f2a9c1d --always',
      shows: /^All calls of memory_delete_entities by local are approved/m,
      before: async scene => ({ '3f2a9c1d': await hold(scene) }),
    },
    {
      line: 'agenthub approvals remove 5b7e0a42',
      shows: /^The standing approval \w+ is removed\.$/m,
      before: async scene => ({ '5b7e0a42': await findRule(scene) }),
    },
  ],
  secrets: [
    { line: 'agenthub secret set NAME', shows: /NAME/, types: 'hush hush\n' },
    { line: 'agenthub secret list', shows: /NAME/ },
    { line: 'agenthub secret set NAME --store file', shows: /stored NAME/, types: 'hush hush\n' },
    { line: 'agenthub secret remove NAME', shows: /NAME/ },
    {
      line: 'agenthub secret set NAME < file',
      shows: /NAME/,
      before: async ({ home }) => {
        await writeFile(join(home, 'work', 'file'), 'hush hush');
        return {};
      },
    },
    { line: 'agenthub secret set REMOTE_TOKEN', shows: /REMOTE_TOKEN/, types: 'hush hush\n' },
  ],
  servers: [
    {
      line: 'curl -s -X POST -H "Authorization: Bearer $(agenthub key)" localhost:9090/servers/memory/restart',
      shows: /"state":"running"/,
    },
    { line: 'agenthub logs memory --previous', shows: /ended: the process of memory exited/ },
    { line: 'agenthub start', shows: /running/, before: async () => ({ start: 'start memory' }) },
    {
      line: 'agenthub pins accept NAME',
      shows: /^memory: nothing deviates from what is pinned/m,
      code: 1,
      before: async () => ({ NAME: 'memory' }),
    },
  ],
  versions: [
    { line: 'agenthub outdated', shows: /^github .* 2025\.9\.25 /m },
    {
      line: 'agenthub upgrade github --dry-run',
      shows: /^github .*@2025\.9\.25 → .*@2026\.8\.31/m,
    },
    { line: 'agenthub upgrade github', shows: /upgraded.* github/i, types: 'y\n' },
    { line: 'agenthub rollback github', shows: /2025\.9\.25/, types: 'y\n' },
    { line: 'agenthub upgrade', shows: /upgraded.* github/i, types: 'y\n' },
  ],
  connections: [
    { line: 'agenthub connect claude-code', shows: /wrote/, types: 'y\n' },
    {
      line: 'agenthub connect claude-code --login',
      shows: /wrote|already has the hub/,
      types: 'y\n',
    },
    { line: 'agenthub connect cursor', shows: /wrote/, types: 'y\n' },
    { line: 'agenthub connect cursor --login', shows: /wrote|already has the hub/, types: 'y\n' },
    { line: 'agenthub connect cursor --profile work', shows: /@work/, types: 'y\n' },
    { line: 'agenthub connect --all', shows: /cursor/i, types: 'y\n' },
    overStdio('agenthub connect-stdio --profile work'),
  ],
};

/** Configs of hubs that do not run. The other groups of `ownHubs` begin without a config. */
export const configs: Readonly<Record<string, object>> = {
  'hub without servers': { servers: {}, profiles: { work: { servers: [] } } },
  openssl: { servers: {} },
};

/** Commands of hubs that do not run. Each group runs in its order, in a folder of its own. */
export const ownHubs: Readonly<Record<string, readonly Step[]>> = {
  'config that is made': [
    { line: 'agenthub init', shows: /^wrote \S+mcp-servers\.json$/m },
    {
      line: 'agenthub add @modelcontextprotocol/server-filesystem --arg /notes --mount ~/notes:/notes',
      shows: /^added filesystem to /m,
    },
    { line: 'agenthub add --recipe sqlite', shows: /^added sqlite to /m },
  ],
  'first start': [
    {
      line: 'agenthub add @modelcontextprotocol/server-filesystem --arg ~/notes',
      shows: /note: wrote \S+\/mcp-servers\.json[^]*added filesystem to /,
      types: 'y\n',
    },
  ],
  'hub without servers': [
    { line: 'agenthub serve', shows: /answers at/, isEndless: true },
    overStdio('agenthub serve --stdio'),
    overStdio('agenthub serve --stdio --profile work'),
  ],
  import: [
    { line: 'agenthub import', shows: /^ {2}\+ filesystem: npm package/m },
    {
      line: 'agenthub import --all',
      shows: /note: wrote \S+\/mcp-servers\.json[^]*wrote \S+\/mcp-servers\.json: filesystem, git/,
      types: 'y\ny\n',
    },
    { line: 'agenthub import --undo', shows: /restored all of them/, types: 'y\n' },
    {
      line: 'agenthub import --all --yes --allow needed --mount git=~/src',
      shows: /git +\d+ tools +reads \S+\/src$/m,
    },
  ],
  'import that writes': [
    {
      line: 'agenthub import --all --yes --allow needed --write filesystem',
      shows: /filesystem +\d+ tools +writes \S+\/notes$/m,
    },
  ],
  'import that reads': [
    {
      line: 'agenthub import --all --yes --allow needed',
      shows: /filesystem +\d+ tools +reads \S+\/notes$/m,
    },
  ],
  'import that connects': [
    {
      line: 'agenthub import --all --connect',
      // The server stays in the client's config until a running hub has it.
      shows: /filesystem stays in \S+mcp\.json: no hub is running/,
      types: 'y\ny\n',
      code: 1,
    },
  ],
  service: [
    { line: 'mkdir -p ~/.config/systemd/user', shows: /^$/ },
    {
      line: 'agenthub service print systemd > ~/.config/systemd/user/agenthub.service',
      shows: /^/,
    },
    {
      line: 'agenthub service print launchd > ~/Library/LaunchAgents/agenthub.plist',
      shows: /^/,
      before: async ({ home }) => {
        await mkdir(join(home, 'Library', 'LaunchAgents'), { recursive: true });
        return {};
      },
    },
  ],
  'import of a client': [
    {
      line: 'agenthub import cursor --yes --allow github/network:api.github.com',
      // The hub has no engine, and processes have no network of their own that it could restrict.
      shows:
        /x github: github would run as a process, for which "network\.allow" cannot be enforced/,
      code: 1,
    },
  ],
  openssl: [
    {
      line: 'openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=my-clients -keyout authority.key -out authority.pem',
      shows: /^-----$/m,
    },
    {
      line: 'openssl req -newkey rsa:2048 -nodes -subj /CN=cursor -keyout cursor.key -out cursor.csr',
      shows: /^-----$/m,
    },
    {
      line: 'openssl x509 -req -in cursor.csr -CA authority.pem -CAkey authority.key -days 365 -out cursor.pem',
      shows: /subject=CN ?= ?cursor/,
    },
    {
      line: 'ROUTER_TLS_CERT=hub.pem ROUTER_TLS_KEY=hub.key ROUTER_TLS_CLIENT_CA=authority.pem agenthub serve',
      shows: /answers at https:/,
      isEndless: true,
      before: async ({ home }) => {
        await copyFile(join(home, 'work', 'authority.pem'), join(home, 'work', 'hub.pem'));
        await copyFile(join(home, 'work', 'authority.key'), join(home, 'work', 'hub.key'));
        return {};
      },
    },
  ],
};
