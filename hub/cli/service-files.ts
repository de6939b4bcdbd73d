/** Program and files of the hub of this folder, for the system's service manager. */
export type ServiceProgram = {
  /** Absolute path of the Node executable that runs this command. */
  readonly node: string;
  readonly script: string;
  /** Absolute path of the working folder, which may not exist yet. */
  readonly folder: string;
  /** Variables that the service needs to find the same programs and files. */
  readonly env: Readonly<Record<string, string>>;
};

/** Options as in `npm start`, for a smaller young generation: the hub needs no more (decisions/0007). */
const nodeOptions = ['--min-semi-space-size=4', '--max-semi-space-size=4'];
const label = 'agenthub';

/** Returns a unit for the user's systemd. It does not restart on exit code 2, a wrong setting or config. */
export function systemdUnit({ node, script, folder, env }: ServiceProgram): string {
  const words = [node, ...nodeOptions, script, 'serve'];
  return [
    '# AgentHub as a service of this user. To install it:',
    '#   mkdir -p ~/.config/systemd/user',
    '#   agenthub service print systemd > ~/.config/systemd/user/agenthub.service',
    '#   systemctl --user daemon-reload && systemctl --user enable --now agenthub',
    '# So that it also runs while you are not logged in: loginctl enable-linger',
    '# Its log: journalctl --user -u agenthub',
    '[Unit]',
    'Description=AgentHub, one endpoint in front of many MCP servers',
    'StartLimitIntervalSec=300',
    'StartLimitBurst=5',
    '',
    '[Service]',
    'Type=exec',
    // Started by `env`, because systemd allows fewer characters in the program's path than in arguments.
    `ExecStart=/usr/bin/env ${words.map(word => quoted(word.replaceAll('$', '$$$$'))).join(' ')}`,
    // With "-", systemd accepts a folder that does not exist yet.
    `WorkingDirectory=-${folder.replaceAll('%', '%%')}`,
    ...Object.entries(env).map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`),
    'Restart=on-failure',
    'RestartSec=5',
    'RestartPreventExitStatus=2',
    '# The hub stops its servers itself.',
    'KillMode=mixed',
    'TimeoutStopSec=45',
    'UMask=0077',
    '',
    '[Install]',
    'WantedBy=default.target',
    '',
  ].join('\n');
}

/** Quotes a value with the escapes of systemd.syntax(7), without expanding specifiers. */
const quoted = (text: string) =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')}"`;

/** Returns a launch agent for the user's launchd. `logFile` is an absolute path. */
export function launchdPlist(
  { node, script, folder, env }: ServiceProgram,
  logFile: string,
): string {
  const string = (text: string) => `<string>${xml(text)}</string>`;
  const variables = Object.entries(env).flatMap(([name, value]) => [
    `    <key>${xml(name)}</key>`,
    `    ${string(value)}`,
  ]);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!-- AgentHub as a service of this user. Untested on macOS. To install it:',
    '  agenthub service print launchd > ~/Library/LaunchAgents/agenthub.plist',
    '  launchctl bootstrap gui/$UID ~/Library/LaunchAgents/agenthub.plist -->',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<plist version="1.0">',
    '<dict>',
    '  <key>Label</key>',
    `  ${string(label)}`,
    '  <key>ProgramArguments</key>',
    '  <array>',
    ...[node, ...nodeOptions, script, 'serve'].map(word => `    ${string(word)}`),
    '  </array>',
    '  <key>WorkingDirectory</key>',
    `  ${string(folder)}`,
    '  <key>EnvironmentVariables</key>',
    '  <dict>',
    ...variables,
    '  </dict>',
    '  <key>RunAtLoad</key>',
    '  <true/>',
    '  <key>KeepAlive</key>',
    '  <dict>',
    '    <key>SuccessfulExit</key>',
    '    <false/>',
    '  </dict>',
    '  <key>ThrottleInterval</key>',
    '  <integer>10</integer>',
    '  <key>ExitTimeOut</key>',
    '  <integer>45</integer>',
    '  <key>Umask</key>',
    '  <integer>63</integer>',
    '  <key>StandardOutPath</key>',
    `  ${string(logFile)}`,
    '  <key>StandardErrorPath</key>',
    `  ${string(logFile)}`,
    '</dict>',
    '</plist>',
    '',
  ].join('\n');
}

const xml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
