/** A test that runs a command, and text of it by which that can be checked; or why no test runs it as it stands. */
export type Elsewhere =
  { readonly test: string; readonly has: string } | { readonly reason: string };

const ranBy = (test: string, has: string): Elsewhere => ({ test: `tests/${test}.test.ts`, has });

const composeUp = ranBy('system/compose', "compose('up', '-d', '--build', '--wait')");
const overrides = ranBy('system/compose', "['docker-compose.yml', 'compose/lite.yml'");
const agents = ranBy('system/agents', "agenthub('send', 'helper'");
const tasks = ranBy('system/tasks', "cli(path, 'run', '--watch')");
const documenting = ranBy('system/documentation', "cli('docs', repo");
const login = ranBy('system/logins', "'login', 'docs', '--print'");
const logout = ranBy('system/logins', '/servers/docs/logout');
const release = ranBy('system/package', "'scripts', 'release.mjs'");
const units = ranBy('cli/service-files', 'systemd-analyze');
const certificates = ranBy('cli/connect-tls', "'connect-stdio', '--url'");
const allowing = ranBy('system/package', "agenthub('reload', '--allow'");
const imports = ranBy('system/import', "'--connect',");
const setSecret = ranBy('system/secrets', "'secret', 'set', 'DEMO'");
const services = { reason: 'changes which services the account starts' };
const ofMac = {
  reason: 'needs macOS: tests/cli/service-files.test.ts pins the file that is printed',
};
const ofClone = {
  reason: 'changes the clone: tests/system/config-move.test.ts does the same to one',
};
const suite = { reason: 'runs tests or measures for minutes: CI runs it whole' };

/** The documented commands that are not run beside this file. */
export const elsewhere: Readonly<Record<string, Elsewhere>> = {
  'npm start': ranBy('system/npm-start', "spawn('npm', ['start']"),
  'npm start -- --tags work,notes': ranBy('system/tags', "args: ['--tags', 'work']"),
  'npm test': suite,
  'npm run bench': suite,
  'npm run bench -- find': suite,
  'npm run release': release,
  'npm install ./agenthub-0.1.0.tgz': release,
  'npm ci': { reason: 'what an image of a project runs: tests/system/builds.test.ts builds one' },
  'docker compose up -d --build --wait': composeUp,
  'OLLAMA_PULL=true docker compose up -d --build --wait': {
    reason: 'pulls models of several GB: tests/system/compose.test.ts starts it without',
  },
  'docker compose up': composeUp,
  'docker compose up -d --wait': ranBy('system/package', 'needs images only, and no clone'),
  'docker compose down': ranBy('system/compose', "compose('down'"),
  'docker compose -f docker-compose.yml -f compose/lite.yml up -d --build --wait': overrides,
  'AGENTHUB_MOUNT_ROOT=$HOME/projects docker compose -f docker-compose.yml -f compose/mounts.yml up -d --build --wait':
    overrides,
  'docker compose -f docker-compose.yml -f compose/observability.yml up -d --build --wait': ranBy(
    'system/observability',
    'compose/observability.yml',
  ),
  'docker compose exec': ranBy('system/compose', "'exec'"),
  'docker compose exec -T hub node bin/agenthub.mjs secret set NAME < file': ranBy(
    'system/compose',
    "'exec'",
  ),
  'agenthub agent send researcher "Write primes.py, run it, and tell me the tenth prime."': agents,
  'agenthub agent chat researcher': { reason: 'a conversation with a model, on a terminal' },
  "agenthub agent configure researcher --model qwen3:8b --grant-tool 'memory_*' --grant-agent writer":
    ranBy('system/agents', "agenthub('configure', 'helper'"),
  'cd my-repository': tasks,
  'agenthub task new --target src/sum.mjs --requirement "sum(a, b) returns a + b" --accept "node --test" --implementer qwen2.5-coder:7b --reviewer llama3.2:3b':
    ranBy('system/tasks', "cli(path, 'new', '--target', 'src/sum.mjs', '--requirement'"),
  'agenthub task new --repo ~/my-repository': tasks,
  'agenthub task setup': ranBy('system/tasks', "cli(path, 'setup')"),
  'agenthub task run --watch': tasks,
  'agenthub task run sum': tasks,
  'agenthub task report-judge --verdict pass': ranBy('system/tasks', "'report-judge'"),
  'agenthub task finalize': ranBy('system/tasks', "cli(path, 'finalize')"),
  'agenthub docs ~/projects/app --vault ~/notes --dry-run': documenting,
  'agenthub docs ~/projects/app --vault ~/notes': documenting,
  'agenthub docs [REPOSITORY]': documenting,
  'agenthub connect obsidian': ranBy('system/documentation', "cli('connect', 'obsidian')"),
  'openssl s_client -connect 127.0.0.1:27124 </dev/null 2>/dev/null | openssl x509 -noout -fingerprint -sha256':
    { reason: 'needs Obsidian with its REST plugin' },
  'ollama pull all-minilm': { reason: 'needs Ollama' },
  'agenthub login github': login,
  'agenthub login github --print': login,
  'agenthub login remote': login,
  'agenthub logout github': logout,
  'agenthub logout': logout,
  'ROUTER_TLS_CERT=hub.pem ROUTER_TLS_KEY=hub.key ROUTER_TLS_CLIENT_CA=authority.pem agenthub serve':
    ranBy('http/client-certificates', 'ROUTER_TLS_CLIENT_CA'),
  'AGENTHUB_CLIENT_CERT=cursor.pem AGENTHUB_CLIENT_KEY=cursor.key NODE_EXTRA_CA_CERTS=hub-authority.pem agenthub connect-stdio --url https://hub.home.lan:9090':
    certificates,
  'agenthub import --all --connect': imports,
  'agenthub import --all --yes --allow needed': imports,
  'agenthub import --all --yes --allow needed --write filesystem': imports,
  'agenthub install io.github.someone/postgres': ranBy('cli/commands/install', "'install'"),
  'agenthub upgrade': ranBy('cli/commands/upgrade', "'upgrade'"),
  'agenthub upgrade github': ranBy('cli/commands/upgrade', "'upgrade'"),
  'agenthub rollback github': ranBy('cli/commands/upgrade', "'rollback'"),
  'agenthub reload --allow client:NAME': allowing,
  'agenthub reload --allow NAME': allowing,
  'agenthub secret set REMOTE_TOKEN': setSecret,
  'agenthub secret set NAME < file': setSecret,
  'mkdir -p ~/.config/systemd/user': services,
  'agenthub service print systemd > ~/.config/systemd/user/agenthub.service': units,
  'systemctl --user daemon-reload && systemctl --user enable --now agenthub': services,
  'loginctl enable-linger': services,
  'agenthub service print launchd > ~/Library/LaunchAgents/agenthub.plist': ofMac,
  'launchctl bootstrap gui/$UID ~/Library/LaunchAgents/agenthub.plist': ofMac,
  'git pull': ofClone,
  'git checkout COMMIT': ofClone,
  'mv configs/mcp-servers.json mine.json': ofClone,
  'git checkout configs/mcp-servers.json': ofClone,
  'mv mine.json configs/mcp-servers.json': ofClone,
  'cp configs/mcp-servers.json mine.json': ofClone,
  'cp mine.json configs/mcp-servers.json': ofClone,
};
