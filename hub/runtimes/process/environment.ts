/** Additional variables that programs on Windows require. */
const windowsNames = new Set([
  'APPDATA',
  'COMSPEC',
  'HOMEDRIVE',
  'HOMEPATH',
  'LOCALAPPDATA',
  'PATHEXT',
  'PROCESSOR_ARCHITECTURE',
  'PROGRAMFILES',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'TEMP',
  'TMP',
  'USERPROFILE',
  'WINDIR',
]);

/**
 * The environment of a server: search path, home, temporary folder and locale of the hub, the names in `also`, and the
 * variables of its entry. Nothing else is inherited, because the environment of the hub contains secrets.
 */
export function environmentOf(
  base: Readonly<Record<string, string | undefined>>,
  own: Readonly<Record<string, string>>,
  platform: NodeJS.Platform,
  also: readonly string[] = [],
): Record<string, string> {
  const windows = platform === 'win32';
  // Names are case-insensitive on Windows. Duplicates are undefined behaviour.
  const keyOf = (name: string) => (windows ? name.toUpperCase() : name);
  const given = new Set(Object.keys(own).map(keyOf));
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(base)) {
    const key = keyOf(name);
    if (
      value !== undefined &&
      !given.has(key) &&
      (isInherited(key, windows) || also.includes(name))
    )
      environment[name] = value;
  }
  return { ...environment, ...own };
}

function isInherited(key: string, windows: boolean): boolean {
  return (
    key === 'PATH' ||
    key === 'HOME' ||
    key === 'TMPDIR' ||
    key === 'LANG' ||
    key.startsWith('LC_') ||
    (windows && windowsNames.has(key))
  );
}
