/** The exit codes of every command. */
export const EXIT = {
  ok: 0,
  /** The check failed: a token was rejected, `doctor` found something to fix, or a confirmation was declined. */
  no: 1,
  /** Wrong usage, or a wrong or missing configuration. */
  usage: 2,
  /** The store or the network is unavailable. */
  unavailable: 3,
  /** Interrupted with Ctrl-C: 128 and the number of SIGINT. */
  interrupted: 130,
} as const

/** Ends a command with a message for the operator and an exit code; printed without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exitCode: number

  constructor(message: string, exitCode: number, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}
