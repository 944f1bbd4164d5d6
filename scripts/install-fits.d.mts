export function installFits(lock: object | null, installed: object | null): boolean;
