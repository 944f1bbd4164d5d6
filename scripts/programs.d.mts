export const PROGRAMS: Readonly<Record<string, readonly [program: string, ...args: string[]]>>;
