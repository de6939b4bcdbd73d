import assert from 'node:assert/strict';
import { accessSync, constants } from 'node:fs';
import { type Browser, type BrowserContextOptions, type Page, chromium } from 'playwright-core';
import { describe, test } from 'vitest';
import { describeWithEngine } from './engine.ts';

/** AGENTHUB_REQUIRE_BROWSER=1 makes an absent browser a failure: CI has one and may skip nothing. */
const browserRequired = process.env['AGENTHUB_REQUIRE_BROWSER'] === '1';
/** Where Debian, Ubuntu, Chrome's own packages, and macOS have it. The first needs half the CPU of the others. */
const usualPlaces = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];
const executable = findBrowser();

function findBrowser(): string | undefined {
  const named = process.env['CHROMIUM_PATH'];
  return (named ? [named] : usualPlaces).find(place => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * Tests in a browser, on servers in containers. Without one of the two they are skipped by name, with the
 * reason in it, or fail where AGENTHUB_REQUIRE_BROWSER=1 or AGENTHUB_REQUIRE_ENGINE=1 says that there must be one.
 */
export function describeWithBrowser(name: string, tests: () => void): void {
  const problem = 'no Chromium is at CHROMIUM_PATH or in the usual places';
  if (executable !== undefined) {
    describeWithEngine(name, tests);
  } else if (browserRequired) {
    test(`${name}: needs a browser`, () => {
      assert.fail(`AGENTHUB_REQUIRE_BROWSER=1, but ${problem}`);
    });
  } else {
    describe.skip(`${name} (skipped: ${problem}; tests/browser/up installs one)`, tests);
  }
}

let shared: Promise<Browser> | undefined;

/**
 * The Chromium of all test files that run in this process. It finds no host but this one. Each test opens a context of its
 * own, with a profile of its own, and closes that only.
 */
export function sharedBrowser(): Promise<Browser> {
  shared ??= launchBrowser();
  return shared;
}

async function launchBrowser(): Promise<Browser> {
  assert.ok(executable, 'only tests of describeWithBrowser may ask for a browser');
  const browser = await chromium.launch({
    executablePath: executable,
    handleSIGTERM: false,
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1',
    ],
  });
  // One that crashed fails the test that used it, and no other.
  browser.once('disconnected', () => (shared = undefined));
  // Vitest ends its processes by this signal. The profile of the browser would stay behind.
  process.once('SIGTERM', () => void browser.close().finally(() => process.kill(process.pid)));
  return browser;
}

export type Visit = BrowserContextOptions & {
  /** The only one that pages may ask, such as http://localhost:41234. */
  readonly baseURL: string;
  /** What the console may say in this test, such as that a request was refused. */
  readonly expected?: RegExp;
};

/**
 * Calls `look` with a page of a fresh profile. Rejects when the page wrote an error to its console, threw one, had
 * a request that failed or was answered with an error, or asked another origin; else with what `look` throws.
 */
export async function visit<T>(
  { expected, ...options }: Visit,
  look: (page: Page) => Promise<T>,
): Promise<T> {
  const browser = await sharedBrowser();
  const context = await browser.newContext(options);
  // A test would wait for its own timeout else, and not say for what.
  context.setDefaultTimeout(20_000);
  const problems: string[] = [];
  context.on('console', message => {
    const isProblem = message.type() === 'error' || message.type() === 'warning';
    if (isProblem && !expected?.test(message.text()))
      problems.push(`console: ${message.text()} (${message.location().url})`);
  });
  context.on('weberror', error => void problems.push(`thrown: ${error.error().stack}`));
  context.on('request', request => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== options.baseURL && protocol !== 'data:')
      problems.push(`another origin is asked: ${request.url()}`);
  });
  try {
    const seen = await look(await context.newPage());
    assert.deepEqual(problems, []);
    return seen;
  } finally {
    await context.close();
  }
}
