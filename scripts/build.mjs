// Makes dist/ for the npm package, before `npm pack` and `npm publish`: Node strips no types under node_modules.
// The clone itself runs from hub/, and never from what is left here.
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const root = path.dirname(import.meta.dirname);
const sources = path.join(root, 'hub');
const dist = path.join(root, 'dist');
/** For people, who read them in the repository. */
const leftOut = /\.(?:ts|md)$|\/decisions$/;

rmSync(dist, { recursive: true, force: true });
const compiler = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
});
if (status !== 0) process.exit(status ?? 1);
// What the rooms serve besides code, such as the assets of the dashboard.
cpSync(sources, dist, { recursive: true, filter: file => !leftOut.test(file) });
// The doors of the rooms: Node looks `#room` up in the package.json that is nearest.
const { imports } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const rooms = imports['#*'].replace('./hub/', './').replace(/\.ts$/, '.js');
writeFileSync(
  path.join(dist, 'package.json'),
  `${JSON.stringify({ type: 'module', imports: { '#*': rooms } }, undefined, 2)}\n`,
);
