import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type ClientName, type ClientScope, configFileOf } from '#clients';

const linux = { platform: 'linux', home: '/home/me', folder: '/work/app', env: {}, packages: [] };
const darwin = { ...linux, platform: 'darwin', home: '/Users/me' };
const win32 = {
  platform: 'win32',
  home: 'C:\\Users\\me',
  folder: 'D:\\app',
  env: {
    APPDATA: 'C:\\Users\\me\\AppData\\Roaming',
    LOCALAPPDATA: 'C:\\Users\\me\\AppData\\Local',
  },
  packages: [],
};
const machines = { linux, darwin, win32 };

const table: readonly (readonly [
  ClientName,
  ClientScope,
  keyof typeof machines,
  string | undefined,
])[] = [
  ['claude-code', 'user', 'linux', '/home/me/.claude.json'],
  ['claude-code', 'user', 'darwin', '/Users/me/.claude.json'],
  ['claude-code', 'user', 'win32', 'C:\\Users\\me\\.claude.json'],
  ['claude-code', 'workspace', 'linux', '/work/app/.mcp.json'],
  ['claude-code', 'workspace', 'win32', 'D:\\app\\.mcp.json'],
  ['claude-desktop', 'user', 'linux', '/home/me/.config/Claude/claude_desktop_config.json'],
  [
    'claude-desktop',
    'user',
    'darwin',
    '/Users/me/Library/Application Support/Claude/claude_desktop_config.json',
  ],
  [
    'claude-desktop',
    'user',
    'win32',
    'C:\\Users\\me\\AppData\\Roaming\\Claude\\claude_desktop_config.json',
  ],
  ['claude-desktop', 'workspace', 'linux', undefined],
  ['vscode', 'user', 'linux', '/home/me/.config/Code/User/mcp.json'],
  ['vscode', 'user', 'darwin', '/Users/me/Library/Application Support/Code/User/mcp.json'],
  ['vscode', 'user', 'win32', 'C:\\Users\\me\\AppData\\Roaming\\Code\\User\\mcp.json'],
  ['vscode', 'workspace', 'darwin', '/work/app/.vscode/mcp.json'],
  ['cursor', 'user', 'linux', '/home/me/.cursor/mcp.json'],
  ['cursor', 'user', 'win32', 'C:\\Users\\me\\.cursor\\mcp.json'],
  ['cursor', 'workspace', 'linux', '/work/app/.cursor/mcp.json'],
  ['windsurf', 'user', 'darwin', '/Users/me/.codeium/windsurf/mcp_config.json'],
  ['windsurf', 'user', 'win32', 'C:\\Users\\me\\.codeium\\windsurf\\mcp_config.json'],
  ['windsurf', 'workspace', 'linux', undefined],
  ['codex', 'user', 'linux', '/home/me/.codex/config.toml'],
  ['codex', 'user', 'win32', 'C:\\Users\\me\\.codex\\config.toml'],
  ['codex', 'workspace', 'linux', '/work/app/.codex/config.toml'],
  ['gemini-cli', 'user', 'linux', '/home/me/.gemini/settings.json'],
  ['gemini-cli', 'workspace', 'linux', '/work/app/.gemini/settings.json'],
  ['qwen-code', 'user', 'win32', 'C:\\Users\\me\\.qwen\\settings.json'],
  ['qwen-code', 'workspace', 'darwin', '/work/app/.qwen/settings.json'],
  ['copilot-cli', 'user', 'linux', '/home/me/.copilot/mcp-config.json'],
  ['copilot-cli', 'workspace', 'linux', undefined],
  ['opencode', 'user', 'darwin', '/Users/me/.config/opencode/opencode.json'],
  ['opencode', 'user', 'win32', 'C:\\Users\\me\\.config\\opencode\\opencode.json'],
  ['opencode', 'workspace', 'linux', '/work/app/opencode.json'],
  ['raycast', 'user', 'darwin', undefined],
];

test.for(table)('%s (%s) on %s keeps its servers in %s', ([client, scope, platform, file]) => {
  assert.equal(configFileOf(client, scope, machines[platform]), file);
});

test('environment variables move the files as they do for the clients', () => {
  const env = {
    CLAUDE_CONFIG_DIR: '/c',
    CODEX_HOME: '/x',
    XDG_CONFIG_HOME: '/g',
    GEMINI_CLI_HOME: '/e',
    QWEN_HOME: '/q',
    COPILOT_HOME: '/p',
  };
  const moved = { ...linux, env };
  assert.equal(configFileOf('claude-code', 'user', moved), '/c/.claude.json');
  assert.equal(configFileOf('codex', 'user', moved), '/x/config.toml');
  assert.equal(configFileOf('vscode', 'user', moved), '/g/Code/User/mcp.json');
  assert.equal(configFileOf('gemini-cli', 'user', moved), '/e/.gemini/settings.json');
  assert.equal(configFileOf('qwen-code', 'user', moved), '/q/settings.json');
  assert.equal(configFileOf('copilot-cli', 'user', moved), '/p/mcp-config.json');
  assert.equal(configFileOf('opencode', 'user', moved), '/g/opencode/opencode.json');
});

test('Claude Desktop from the Microsoft Store has its file in its package folder', () => {
  const packages = ['Microsoft.Other_8wekyb3d8bbwe', 'Claude_pzs8sxrjxfjjc'];
  assert.equal(
    configFileOf('claude-desktop', 'user', { ...win32, packages }),
    'C:\\Users\\me\\AppData\\Local\\Packages\\Claude_pzs8sxrjxfjjc\\LocalCache\\Roaming\\Claude\\claude_desktop_config.json',
  );
});
