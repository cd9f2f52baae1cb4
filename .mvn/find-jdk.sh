# Sourced by `mvnw` and `millrace`: sets JAVA_HOME to a JDK 25 or newer, or stops with a sentence that says what is missing.
# Looks at JAVA_HOME, then the java on PATH, then the usual install folders.
millrace_jdk_major() {
  [ -x "$1/bin/javac" ] && [ -f "$1/release" ] || return 1
  sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release"
}
millrace_jdk_fits() {
  millrace_major=$(millrace_jdk_major "$1") || return 1
  [ -n "$millrace_major" ] && [ "$millrace_major" -ge 25 ]
}
millrace_find_jdk() {
  [ -n "${JAVA_HOME-}" ] && millrace_jdk_fits "$JAVA_HOME" && return 0
  millrace_java=$(command -v java 2>/dev/null || true)
  if [ -n "$millrace_java" ]; then
    millrace_home=$(readlink -f "$millrace_java" 2>/dev/null | sed 's|/bin/java$||')
    if [ -n "$millrace_home" ] && millrace_jdk_fits "$millrace_home"; then JAVA_HOME=$millrace_home; return 0; fi
  fi
  set +f
  for millrace_home in /usr/lib/jvm/* /usr/java/* /opt/java/* /opt/jdk* "$HOME"/.sdkman/candidates/java/* "$HOME"/.jdks/* \
    /Library/Java/JavaVirtualMachines/*/Contents/Home "$HOME"/Library/Java/JavaVirtualMachines/*/Contents/Home; do
    if millrace_jdk_fits "$millrace_home"; then JAVA_HOME=$millrace_home; return 0; fi
  done
  echo "millrace: no JDK 25 found (looked at JAVA_HOME=${JAVA_HOME-unset}, java on PATH=${millrace_java:-none}, /usr/lib/jvm and the other usual folders). Install a JDK 25 or set JAVA_HOME to one." >&2
  return 1
}
millrace_find_jdk || exit 1
export JAVA_HOME
