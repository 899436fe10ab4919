import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * A file system in which every path is a directory: a metastore makes the directories of tables and
 * databases, and Spark's wheel has no jars for object stores.
 */
public final class PretendedFiles extends FileSystem {
  private URI uri;

  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    super.initialize(name, conf);
    setConf(conf);
    uri = URI.create(name.getScheme() + "://" + name.getAuthority());
  }

  @Override
  public String getScheme() {
    return uri == null ? "pretended" : uri.getScheme();
  }

  @Override
  public URI getUri() {
    return uri;
  }

  @Override
  public FSDataInputStream open(Path path, int buffer) throws IOException {
    throw new IOException("there is nothing in " + path);
  }

  @Override
  public FSDataOutputStream create(
      Path path,
      FsPermission permission,
      boolean overwrite,
      int buffer,
      short replication,
      long block,
      Progressable progress)
      throws IOException {
    throw new IOException("nothing can be written to " + path);
  }

  @Override
  public FSDataOutputStream append(Path path, int buffer, Progressable progress)
      throws IOException {
    throw new IOException("nothing can be written to " + path);
  }

  @Override
  public boolean rename(Path from, Path to) {
    return true;
  }

  @Override
  public boolean delete(Path path, boolean recursive) {
    return true;
  }

  @Override
  public FileStatus[] listStatus(Path path) {
    return new FileStatus[0];
  }

  @Override
  public void setWorkingDirectory(Path path) {}

  @Override
  public Path getWorkingDirectory() {
    return new Path(uri + "/");
  }

  @Override
  public boolean mkdirs(Path path, FsPermission permission) {
    return true;
  }

  @Override
  public FileStatus getFileStatus(Path path) {
    return new FileStatus(0, true, 1, 1, 0, makeQualified(path));
  }
}
