/* Loaded into each process whose instructions are counted. Valgrind says what a process took when that ends, and not
 * when it becomes another program: so it does not, but starts the other as its child, waits for it, and ends as it ended.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int execve(const char *path, char *const arguments[], char *const environment[]) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        syscall(SYS_execve, path, arguments, environment);
        _exit(127);
    }
    while (waitpid(child, &status, 0) < 0)
        ;
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* The C library's own does not come by the function above. */
int execv(const char *path, char *const arguments[]) { return execve(path, arguments, environ); }
