/** A program or library that a server did not find. */
type MissingProgram = {
  /** Name of the program or library, as the server wrote it. */
  readonly name: string;
  /** Debian package that contains it. Absent: unknown. */
  readonly systemPackage?: string;
};

/** Messages of shells, the engine, Node, Python, .NET and browsers about a missing program or library. */
const patterns: readonly RegExp[] = [
  /(?:^|\s)(?:\/bin\/)?(?:sh|bash|dash): (?:line )?(?:\d+: )?([\w.+-]+): (?:command )?not found/m,
  /\benv: ['‘]?([\w.+-]+)['’]?: No such file or directory/,
  /\bspawn (?:\/\S*\/)?([\w.+-]+) ENOENT/,
  /FileNotFoundError: \[Errno 2\] No such file or directory: '([\w.+-]+)'/,
  /exec: "(?:\/\S*\/)?([\w.+-]+)": executable file not found/,
  /GitCommandNotFound: Cmd\('([\w.+-]+)'\) not found/,
  /error while loading shared libraries: ([\w.+-]+\.so[\w.]*):/,
  /(Bad git executable)/,
  /Executable doesn't exist at \S*\/(chromium|chrome|firefox)/,
  /find a valid (ICU) package/,
  /(Chromium) distribution '\w+' is not found/,
];

/** Maps a program or library to the Debian package that contains it. */
const packages: Readonly<Record<string, string>> = {
  'Bad git executable': 'git',
  Chromium: 'chromium',
  // It depends on the library, whose own package has another name in each Debian.
  ICU: 'libicu-dev',
  bash: 'bash',
  cargo: 'cargo',
  cc: 'build-essential',
  chrome: 'chromium',
  chromium: 'chromium',
  cmake: 'cmake',
  convert: 'imagemagick',
  curl: 'curl',
  dig: 'bind9-dnsutils',
  dot: 'graphviz',
  exiftool: 'libimage-exiftool-perl',
  ffmpeg: 'ffmpeg',
  ffprobe: 'ffmpeg',
  firefox: 'firefox-esr',
  'g++': 'g++',
  gcc: 'gcc',
  gh: 'gh',
  git: 'git',
  go: 'golang-go',
  gs: 'ghostscript',
  java: 'default-jre-headless',
  jq: 'jq',
  'libGL.so.1': 'libgl1',
  'libglib-2.0.so.0': 'libglib2.0-0',
  'libnss3.so': 'libnss3',
  'libpq.so.5': 'libpq5',
  magick: 'imagemagick',
  make: 'make',
  mysql: 'default-mysql-client',
  node: 'nodejs',
  npm: 'npm',
  npx: 'npm',
  pandoc: 'pandoc',
  pdftoppm: 'poppler-utils',
  pdftotext: 'poppler-utils',
  perl: 'perl',
  pg_dump: 'postgresql-client',
  ping: 'iputils-ping',
  pip: 'python3-pip',
  pkill: 'procps',
  ps: 'procps',
  psql: 'postgresql-client',
  python: 'python-is-python3',
  python3: 'python3',
  rg: 'ripgrep',
  ruby: 'ruby',
  soffice: 'libreoffice',
  sqlite3: 'sqlite3',
  ssh: 'openssh-client',
  tesseract: 'tesseract-ocr',
  unzip: 'unzip',
  wget: 'wget',
  wkhtmltopdf: 'wkhtmltopdf',
  Xvfb: 'xvfb',
  zip: 'zip',
};

/** Finds the first missing program or library that the output of a server names; undefined if there is none. */
export function findMissing(output: string): MissingProgram | undefined {
  for (const line of output.split('\n'))
    for (const pattern of patterns) {
      const [, name] = pattern.exec(line) ?? [];
      if (name === undefined) continue;
      const systemPackage = Object.hasOwn(packages, name) ? packages[name] : undefined;
      const shown = name === 'Bad git executable' ? 'git' : name;
      return { name: shown, ...(systemPackage !== undefined && { systemPackage }) };
    }
  return undefined;
}

/** Returns advice on a missing program, for the message of a failure. */
export const adviceOn = ({ name, systemPackage }: MissingProgram): string =>
  systemPackage === undefined
    ? `It does not find ${name}. If a Debian package has it (https://packages.debian.org), add that to "system_packages" of the entry`
    : `It does not find ${name}. Add "system_packages": ["${systemPackage}"] to the entry; a process needs it on this machine instead`;
