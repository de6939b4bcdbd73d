/** How the hub of this folder is started, for the service manager of the system. */
export type ServiceProgram = {
  /** The Node that runs this command, absolute. */
  readonly node: string;
  /** The program, absolute. */
  readonly script: string;
  /** The working folder, absolute. It may not exist yet. */
  readonly folder: string;
  /** Variables without which the service would not find the same programs and files. */
  readonly env: Readonly<Record<string, string>>;
};

/** As in `npm start`: a smaller young generation, which the hub does not need (decisions/0007). */
const nodeOptions = ['--min-semi-space-size=4', '--max-semi-space-size=4'];
const label = 'agenthub';

/** A unit for the systemd of a user. Exit code 2 is a wrong setting or config, which a restart does not mend. */
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
    // By env, because systemd allows fewer characters in the path of the program than in arguments.
    `ExecStart=/usr/bin/env ${words.map(word => quoted(word.replaceAll('$', '$$$$'))).join(' ')}`,
    // "-": a folder that does not exist yet is not an error.
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

/** A value with the escapes of systemd.syntax(7) and its specifiers taken literally. */
const quoted = (text: string) =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')}"`;

/** A launch agent for the launchd of a user. `logFile`: absolute. */
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
