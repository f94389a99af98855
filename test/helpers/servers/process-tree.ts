import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** Whether a process exists and is no zombie: one whose parent never asks stays in the table when it is long dead. */
export function isRunning(pid: number): boolean {
  return existsSync('/proc/self/stat') ? !['', 'Z', 'X'].includes(readStat(pid).state) : sendSignal(pid, 0)
}

/** The direct children of a process. */
export function childrenOf(pid: number): number[] {
  const table = existsSync('/proc/self/stat') ? readProc() : readPs()
  return table.filter(([, parent]) => parent === pid).map(([child]) => child)
}

/** The children of a process, theirs, and so on. */
export function descendantsOf(pid: number): number[] {
  const table = existsSync('/proc/self/stat') ? readProc() : readPs()
  const below = (of: number): number[] =>
    table.filter(([, parent]) => parent === of).flatMap(([child]) => [child, ...below(child)])
  return below(pid)
}

/** Sends a signal; false when there is no such process any more. */
export function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

function readProc(): [pid: number, parent: number][] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map((name) => [Number(name), readStat(Number(name)).parent])
}

function readPs(): [pid: number, parent: number][] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  return lines.map((line) => line.trim().split(/\s+/).map(Number) as [number, number])
}

function readStat(pid: number): { readonly state: string; readonly parent: number } {
  try {
    // The name before these fields is in parentheses, and may itself contain spaces and parentheses.
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state = '', parent = ''] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state, parent: Number(parent) }
  } catch {
    return { state: '', parent: -1 }
  }
}
