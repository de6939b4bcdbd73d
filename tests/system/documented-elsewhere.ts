/** How a test in another file writes a documented command. */
export type Written = {
  /** Program of the documented command, and its replacement in the test. */
  readonly program?: readonly [documented: string, written: string];
  /** Values of the documented command, such as names and folders, and their replacements in the test. */
  readonly values?: Readonly<Record<string, string>>;
};

/** The test that runs a command with the same words, which is checked, or the reason why no test does. */
type Elsewhere = ({ readonly test: string } & Written) | { readonly reason: string };

const ranBy = (test: string, written: Written = {}): Elsewhere => ({
  test: `tests/${test}.test.ts`,
  ...written,
});

const composed = ranBy('system/compose', { program: ['docker compose', 'await compose'] });
const agents = ranBy('system/agents', { program: ['agenthub', ''] });
const tasks = ranBy('system/tasks', {
  program: ['agenthub task', 'cli path'],
  values: { sum: 'bad' },
});
const documenting = ranBy('system/documentation', {
  program: ['agenthub', 'cli'],
  values: { '~/projects/app': 'repo', '[REPOSITORY]': 'repo', '~/notes': 'vault' },
});
const logins = ranBy('system/logins', {
  program: ['agenthub', 'cli'],
  values: { github: 'docs', remote: 'docs' },
});
const release = ranBy('system/release');
const services = { reason: 'changes which services the account starts' };
const ofMac = {
  reason: 'needs macOS: tests/cli/service-files.test.ts pins the file that is printed',
};
const ofClone = {
  reason: 'changes the clone: tests/system/config-move.test.ts does the same to one',
};
const suite = { reason: 'runs tests or measures for minutes: CI runs it whole' };

const restored = {
  reason: 'names a volume or a folder of a hub with the default name, which may be in use here',
};

/** Documented commands that documented-steps.ts does not run. */
export const elsewhere: Readonly<Record<string, Elsewhere>> = {
  'npm start': ranBy('system/npm-start'),
  'ROUTER_PORT=9191 npm start': {
    reason: 'a fixed port may be in use: tests/system/npm-start.test.ts starts at a free one',
  },
  'npm start -- --tags work,notes': ranBy('system/tags', { program: ['npm start --', 'args:'] }),
  'npm test': suite,
  'npm run bench': suite,
  'npm run bench -- find': suite,
  'npm run release': release,
  'npm install ./agenthub-0.1.0.tgz': release,
  'npm ci': { reason: 'what an image of a project runs: tests/system/builds.test.ts builds one' },
  'docker compose up -d --build --wait': composed,
  'OLLAMA_PULL=true docker compose up -d --build --wait': {
    reason: 'pulls models of several GB: tests/system/compose.test.ts starts it without',
  },
  'docker compose up': composed,
  'docker compose up -d --wait': release,
  'docker compose down': composed,
  'docker compose -f docker-compose.yml -f compose/lite.yml up -d --build --wait': release,
  'AGENTHUB_MOUNT_ROOT="$(realpath ~/projects)" docker compose -f docker-compose.yml -f compose/mounts.yml up -d --build --wait':
    release,
  'docker compose -f docker-compose.yml -f compose/observability.yml up -d --build --wait': release,
  'docker compose exec': release,
  'docker compose create': { reason: 'creates the volume of the data folder without a start' },
  'sudo chgrp -R 1000 configs && sudo chmod -R g+rwX configs': {
    reason: 'needs root: tests/config/files.test.ts pins the message without it',
  },
  'agenthub doctor --remove compose-agenthub': {
    reason: 'removes what a hub has: tests/cli/holdings.test.ts does the same to another',
  },
  'tar -czf hub.tar.gz -C ~ .config/agenthub .local/share/agenthub': restored,
  'docker run --rm -v agenthub-memory-data:/data -v "$PWD":/backup debian:bookworm-slim tar -C /data -czf /backup/memory.tar.gz .':
    restored,
  'agenthub stop memory': restored,
  'docker run --rm -v agenthub-memory-data:/data -v "$PWD":/backup debian:bookworm-slim tar -C /data -xzf /backup/memory.tar.gz':
    restored,
  'agenthub start memory': restored,
  'docker compose exec -T hub node bin/agenthub.mjs secret set NAME < file': release,
  'agenthub agent send researcher "Write primes.py, run it, and tell me the tenth prime."': agents,
  'agenthub agent chat researcher': agents,
  "agenthub agent configure researcher --model qwen3:8b --grant-tool 'memory_*' --grant-agent writer":
    agents,
  'cd my-repository': { reason: 'the commands of tasks run in the folder of a repository' },
  'agenthub task new --target src/sum.mjs --requirement "sum(a, b) returns a + b" --accept "node --test" --implementer qwen2.5-coder:7b --reviewer llama3.2:3b':
    ranBy('system/compose', {
      program: ['agenthub', ''],
      values: { 'qwen2.5-coder:7b': 'coder:1b', 'llama3.2:3b': 'critic:1b' },
    }),
  'agenthub task new --repo ~/my-repository': ranBy('system/tasks', {
    program: ['agenthub task', ''],
    values: { '~/my-repository': 'path' },
  }),
  'agenthub task setup': tasks,
  'agenthub task run --watch': tasks,
  'agenthub task run sum': tasks,
  'agenthub task report-judge --verdict pass': tasks,
  'agenthub task finalize': tasks,
  'agenthub docs ~/projects/app --vault ~/notes --dry-run': documenting,
  'agenthub docs ~/projects/app --vault ~/notes': documenting,
  'agenthub docs [REPOSITORY]': documenting,
  'agenthub connect obsidian': documenting,
  'openssl s_client -connect 127.0.0.1:27124 </dev/null 2>/dev/null | openssl x509 -noout -fingerprint -sha256':
    { reason: 'needs Obsidian with its REST plugin' },
  'ollama pull all-minilm': { reason: 'needs Ollama' },
  'agenthub login github': logins,
  'agenthub login github --print': logins,
  'agenthub login remote': logins,
  'agenthub logout github': logins,
  'agenthub logout': logins,
  'AGENTHUB_CLIENT_CERT=cursor.pem AGENTHUB_CLIENT_KEY=cursor.key NODE_EXTRA_CA_CERTS=hub-authority.pem agenthub connect-stdio --url https://hub.home.lan:9090':
    ranBy('connector/own-certificate', { values: { 'https://hub.home.lan:9090': 'hub.url' } }),
  'agenthub install io.github.someone/postgres': ranBy('system/package-upgrade'),
  'agenthub reload --allow client:NAME': ranBy('system/release', {
    values: { 'client:NAME': 'client:cursor' },
  }),
  'agenthub reload --allow NAME': ranBy('system/release', { values: { NAME: 'echo' } }),
  'systemctl --user daemon-reload && systemctl --user enable --now agenthub': services,
  'loginctl enable-linger': services,
  'launchctl bootstrap gui/$UID ~/Library/LaunchAgents/agenthub.plist': ofMac,
  'git pull': ofClone,
  'git checkout COMMIT': ofClone,
  'mv configs/mcp-servers.json mine.json': ofClone,
  'git checkout configs/mcp-servers.json': ofClone,
  'mv mine.json configs/mcp-servers.json': ofClone,
  'cp configs/mcp-servers.json mine.json': ofClone,
  'cp mine.json configs/mcp-servers.json': ofClone,
};
